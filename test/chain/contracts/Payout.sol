// SPDX-License-Identifier: MIT
pragma solidity =0.7.6;
pragma abicoder v2;

import "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";
import "@uniswap/v3-periphery/contracts/libraries/PositionKey.sol";

/// Takes everything out of a pool in the name of the account whose code it replaces in a simulated call.
contract Payout {
    struct Paid {
        uint256 rewards0;
        uint256 rewards1;
        uint256 principal0;
        uint256 principal1;
    }

    /// Returns what each range pays, and the balances after it.
    function takeAll(IUniswapV3Pool pool, int24[2][] memory ranges)
        external
        returns (Paid[] memory paid, uint256 balance0, uint256 balance1)
    {
        paid = new Paid[](ranges.length);
        for (uint256 i = 0; i < ranges.length; i++) {
            (int24 lower, int24 upper) = (ranges[i][0], ranges[i][1]);
            (uint128 liquidity, , , , ) = pool.positions(PositionKey.compute(address(this), lower, upper));
            if (liquidity > 0) pool.burn(lower, upper, 0);
            (paid[i].rewards0, paid[i].rewards1) = _collect(pool, lower, upper);
            if (liquidity > 0) pool.burn(lower, upper, liquidity);
            (paid[i].principal0, paid[i].principal1) = _collect(pool, lower, upper);
        }
        balance0 = IERC20(pool.token0()).balanceOf(address(this));
        balance1 = IERC20(pool.token1()).balanceOf(address(this));
    }

    function _collect(IUniswapV3Pool pool, int24 lower, int24 upper) private returns (uint128, uint128) {
        return pool.collect(address(this), lower, upper, type(uint128).max, type(uint128).max);
    }
}

/// Adds liquidity to a pool in the name of anybody, out of its own balances.
contract Donor {
    function add(IUniswapV3Pool pool, address owner, int24 lower, int24 upper, uint128 liquidity) external {
        pool.mint(owner, lower, upper, liquidity, "");
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        if (amount0 > 0) IERC20(IUniswapV3Pool(msg.sender).token0()).transfer(msg.sender, amount0);
        if (amount1 > 0) IERC20(IUniswapV3Pool(msg.sender).token1()).transfer(msg.sender, amount1);
    }
}
