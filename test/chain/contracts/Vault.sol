// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// A vault that follows the standards the reader relies on, run by its owner. What it holds outside of its underlying
/// asset counts for its shares as the owner reports it. Nobody can deposit while it is paused; everybody can withdraw.
contract Vault is ERC4626, Ownable, Pausable, IERC721Receiver {
    uint256 public outside;

    constructor(IERC20 asset_, address owner_) ERC20("Vault share", "VLT") ERC4626(asset_) Ownable(owner_) {}

    function totalAssets() public view virtual override returns (uint256) {
        return super.totalAssets() + outside;
    }

    function report(uint256 outside_) external onlyOwner {
        outside = outside_;
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    /// Makes calls in the vault's name, all of them or none.
    function run(address[] calldata targets, bytes[] calldata calls) external onlyOwner {
        for (uint256 i = 0; i < targets.length; i++) Address.functionCall(targets[i], calls[i]);
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return IERC721Receiver.onERC721Received.selector;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override whenNotPaused {
        super._deposit(caller, receiver, assets, shares);
    }
}
