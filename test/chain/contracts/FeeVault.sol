// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Vault} from "./Vault.sol";

/// A vault that pays its fees by new shares for its recipient, as MetaMorpho and Lagoon do.
contract FeeVault is Vault {
    address public feeRecipient;
    /// In assets, for one whole share.
    uint256 public highWaterMark;

    event SetFeeRecipient(address indexed newFeeRecipient);

    constructor(IERC20 asset_, address owner_, address recipient) Vault(asset_, owner_) {
        feeRecipient = recipient;
    }

    function setFeeRecipient(address recipient) external onlyOwner {
        feeRecipient = recipient;
        emit SetFeeRecipient(recipient);
    }

    function setHighWaterMark(uint256 assets) external onlyOwner {
        highWaterMark = assets;
    }

    /// Mints the fee's shares alone.
    function accrue(uint256 shares) external onlyOwner {
        _mint(feeRecipient, shares);
    }

    /// Mints the fee's shares before a deposit, in one transaction.
    function accrueAndDeposit(uint256 shares, uint256 assets, address receiver) external {
        _mint(feeRecipient, shares);
        deposit(assets, receiver);
    }
}
