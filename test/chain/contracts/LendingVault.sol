// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Vault} from "./Vault.sol";

/// A vault that looks like the others, and holds the positions of borrowers: it names their owner, as Revert Lend's
/// V3Vault does.
contract LendingVault is Vault {
    mapping(uint256 => address) public ownerOf;

    constructor(IERC20 asset_, address owner_) Vault(asset_, owner_) {}

    function lend(uint256 tokenId, address borrower) external {
        ownerOf[tokenId] = borrower;
    }
}
