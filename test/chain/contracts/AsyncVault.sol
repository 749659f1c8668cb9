// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Vault} from "./Vault.sol";

/// A vault of ERC-7540 whose deposits and redemptions are requested, then fulfilled by the owner, then claimed. It keeps
/// the assets of requests itself, or in a silo.
contract AsyncVault is Vault {
    using SafeERC20 for IERC20;

    mapping(address => uint256) internal _pending;
    mapping(address => uint256) private _claimable;
    mapping(address => uint256) private _redeemable;
    uint256 internal _open;
    Silo public immutable silo;

    event DepositRequest(address indexed controller, address indexed owner, uint256 indexed requestId, address sender, uint256 assets);
    event RedeemRequest(address indexed controller, address indexed owner, uint256 indexed requestId, address sender, uint256 shares);

    constructor(IERC20 asset_, address owner_, bool hasSilo) Vault(asset_, owner_) {
        if (hasSilo) silo = new Silo(asset_);
    }

    function supportsInterface(bytes4 id) public pure virtual returns (bool) {
        return id == 0xce3bbe50 || id == 0x620ee8e4 || id == 0x01ffc9a7;
    }

    function totalAssets() public view override returns (uint256) {
        return super.totalAssets() - (address(silo) == address(0) ? _open : 0);
    }

    function pendingDepositRequest(uint256, address controller) external view returns (uint256) {
        return _pending[controller];
    }

    function claimableDepositRequest(uint256, address controller) external view returns (uint256) {
        return _claimable[controller];
    }

    function requestDeposit(uint256 assets, address controller, address owner) external returns (uint256) {
        IERC20(asset()).safeTransferFrom(owner, address(silo) == address(0) ? address(this) : address(silo), assets);
        _pending[controller] += assets;
        _open += assets;
        emit DepositRequest(controller, owner, 0, msg.sender, assets);
        return 0;
    }

    function requestRedeem(uint256 shares, address controller, address owner) external returns (uint256) {
        _transfer(owner, address(this), shares);
        _redeemable[controller] += shares;
        emit RedeemRequest(controller, owner, 0, msg.sender, shares);
        return 0;
    }

    function fulfil(address controller) external {
        _claimable[controller] += _pending[controller];
        _pending[controller] = 0;
    }

    function claimDeposit(uint256 assets, address receiver) external {
        _claimable[msg.sender] -= assets;
        uint256 shares = convertToShares(assets);
        _open -= assets;
        if (address(silo) != address(0)) silo.give(assets);
        _mint(receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function claimRedeem(uint256 shares, address receiver) external {
        _redeemable[msg.sender] -= shares;
        uint256 assets = convertToAssets(shares);
        _burn(address(this), shares);
        IERC20(asset()).safeTransfer(receiver, assets);
        emit Withdraw(msg.sender, receiver, msg.sender, assets, shares);
    }
}

/// Keeps the assets of requests for a vault.
contract Silo {
    IERC20 private immutable _asset;
    address private immutable _vault = msg.sender;

    constructor(IERC20 asset) {
        _asset = asset;
    }

    function give(uint256 assets) external {
        require(msg.sender == _vault);
        _asset.transfer(_vault, assets);
    }
}
