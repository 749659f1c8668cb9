// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Token} from "./Token.sol";

/// A token of which each transfer takes a part for a collector, as STA or PAXG with a fee do.
contract FeeToken is Token {
    address private constant COLLECTOR = address(0xfee);
    uint256 public feeBasisPoints;

    constructor(string memory symbol_, uint8 decimals_) Token(symbol_, decimals_) {}

    function setFee(uint256 basisPoints) external {
        feeBasisPoints = basisPoints;
    }

    function _update(address from, address to, uint256 value) internal override {
        uint256 fee = from == address(0) || to == address(0) ? 0 : (value * feeBasisPoints) / 10_000;
        if (fee > 0) super._update(from, COLLECTOR, fee);
        super._update(from, to, value - fee);
    }
}

/// A token whose balances change without transfers, as those of stETH and AMPL do: accounts have parts of all tokens.
contract RebasingToken is Token {
    uint256 private constant ONE = 1e18;
    uint256 public index = ONE;

    constructor(string memory symbol_, uint8 decimals_) Token(symbol_, decimals_) {}

    function rebase(uint256 newIndex) external {
        index = newIndex;
    }

    function balanceOf(address account) public view override returns (uint256) {
        return (super.balanceOf(account) * index) / ONE;
    }

    function totalSupply() public view override returns (uint256) {
        return (super.totalSupply() * index) / ONE;
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, (value * ONE) / index);
    }
}
