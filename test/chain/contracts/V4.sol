// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Vault} from "./Vault.sol";

/// A vault that can hold and pay the chain's own coin.
contract CoinVault is Vault {
    constructor(IERC20 asset_, address owner_) Vault(asset_, owner_) {}

    receive() external payable {}

    /// Makes a call in the vault's name, and pays so much of the coin with it.
    function runWith(address target, uint256 value, bytes calldata call) external onlyOwner {
        Address.functionCallWithValue(target, call, value);
    }
}

/// The functions of the PositionManager that are called.
interface IV4PositionManager {
    struct PoolKey {
        address currency0;
        address currency1;
        uint24 fee;
        int24 tickSpacing;
        address hooks;
    }

    function modifyLiquidities(bytes calldata unlockData, uint256 deadline) external payable;
    function getPoolAndPositionInfo(uint256 tokenId) external view returns (PoolKey memory, uint256);
    function getPositionLiquidity(uint256 tokenId) external view returns (uint128);
}

/// Takes everything out of positions of Uniswap v4, one after another, in the name of the account whose code it replaces
/// in a simulated call.
contract V4Payout {
    struct Paid {
        uint256 rewards0;
        uint256 rewards1;
        uint256 principal0;
        uint256 principal1;
    }

    // @see Uniswap v4 Periphery, Actions.sol
    uint8 private constant DECREASE_LIQUIDITY = 0x01;
    uint8 private constant BURN_POSITION = 0x03;
    uint8 private constant TAKE_PAIR = 0x11;

    receive() external payable {}

    /// Returns what each position pays, and the balances after it.
    function takeAll(IV4PositionManager manager, uint256[] calldata ids, address[] calldata tokens)
        external
        returns (Paid[] memory paid, uint256[] memory balances)
    {
        paid = new Paid[](ids.length);
        for (uint256 i = 0; i < ids.length; i++) {
            if (manager.getPositionLiquidity(ids[i]) > 0) {
                (paid[i].rewards0, paid[i].rewards1) = _take(manager, ids[i], DECREASE_LIQUIDITY, abi.encode(ids[i], 0, 0, 0, ""));
            }
            (paid[i].principal0, paid[i].principal1) = _take(manager, ids[i], BURN_POSITION, abi.encode(ids[i], 0, 0, ""));
        }
        balances = new uint256[](tokens.length);
        for (uint256 i = 0; i < tokens.length; i++) balances[i] = _balance(tokens[i]);
    }

    function _take(IV4PositionManager manager, uint256 id, uint8 action, bytes memory term) private returns (uint256, uint256) {
        (IV4PositionManager.PoolKey memory key, ) = manager.getPoolAndPositionInfo(id);
        (uint256 before0, uint256 before1) = (_balance(key.currency0), _balance(key.currency1));
        bytes[] memory params = new bytes[](2);
        params[0] = term;
        params[1] = abi.encode(key.currency0, key.currency1, address(this));
        manager.modifyLiquidities(abi.encode(abi.encodePacked(action, TAKE_PAIR), params), type(uint256).max);
        return (_balance(key.currency0) - before0, _balance(key.currency1) - before1);
    }

    function _balance(address token) private view returns (uint256) {
        return token == address(0) ? address(this).balance : IERC20(token).balanceOf(address(this));
    }
}
