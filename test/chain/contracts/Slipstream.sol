// SPDX-License-Identifier: GPL-2.0-or-later
pragma solidity =0.7.6;
pragma abicoder v2;

import "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import "@uniswap/v3-core/contracts/libraries/FullMath.sol";
import "@uniswap/v3-core/contracts/libraries/LiquidityMath.sol";
import "@uniswap/v3-core/contracts/libraries/SqrtPriceMath.sol";
import "@uniswap/v3-core/contracts/libraries/SwapMath.sol";
import "@uniswap/v3-core/contracts/libraries/TickBitmap.sol";
import "@uniswap/v3-core/contracts/libraries/TickMath.sol";

interface IPoolCaller {
    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external;
}

/// Finds pools by two tokens and a tick spacing, as Slipstream's CLFactory.
contract SlipstreamFactory {
    mapping(address => mapping(address => mapping(int24 => address))) public getPool;

    function add(SlipstreamPool pool) external {
        getPool[pool.token0()][pool.token1()][pool.tickSpacing()] = address(pool);
        getPool[pool.token1()][pool.token0()][pool.tickSpacing()] = address(pool);
    }
}

/// A pool for tests with the functions, events and words that Slipstream publishes (ICLPool), on Uniswap's libraries.
/// Without observations, unstaked fee and protocol fee. The swapper pays from an allowance.
contract SlipstreamPool {
    using TickBitmap for mapping(int16 => uint256);

    struct Slot0 {
        uint160 sqrtPriceX96;
        int24 tick;
        uint16 observationIndex;
        uint16 observationCardinality;
        uint16 observationCardinalityNext;
        bool unlocked;
    }

    struct TickInfo {
        uint128 liquidityGross;
        int128 liquidityNet;
        int128 stakedLiquidityNet;
        uint256 feeGrowthOutside0X128;
        uint256 feeGrowthOutside1X128;
        uint256 rewardGrowthOutsideX128;
        int56 tickCumulativeOutside;
        uint160 secondsPerLiquidityOutsideX128;
        uint32 secondsOutside;
        bool initialized;
    }

    struct Account {
        uint128 liquidity;
        uint256 feeGrowthInside0LastX128;
        uint256 feeGrowthInside1LastX128;
        uint128 tokensOwed0;
        uint128 tokensOwed1;
    }

    address public immutable token0;
    address public immutable token1;
    int24 public immutable tickSpacing;
    address public gauge;
    address public nft;
    uint24 public fee;
    Slot0 public slot0;
    uint256 public feeGrowthGlobal0X128;
    uint256 public feeGrowthGlobal1X128;
    uint256 public rewardGrowthGlobalX128;
    uint256 public rewardRate;
    uint256 public lastUpdated;
    uint128 public liquidity;
    uint128 public stakedLiquidity;
    mapping(int24 => TickInfo) public ticks;
    mapping(int16 => uint256) public tickBitmap;
    mapping(bytes32 => Account) public positions;

    event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    event Collect(address indexed owner, address recipient, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount0, uint128 amount1);

    constructor(address token0_, address token1_, int24 spacing, uint160 price) {
        (token0, token1, tickSpacing, fee) = (token0_, token1_, spacing, 500);
        slot0 = Slot0(price, TickMath.getTickAtSqrtRatio(price), 0, 1, 1, true);
    }

    function connect(address gauge_, address nft_) external {
        (gauge, nft) = (gauge_, nft_);
    }

    function setFee(uint24 fee_) external {
        fee = fee_;
    }

    function setRewardRate(uint256 rate) external {
        updateRewardsGrowthGlobal();
        rewardRate = rate;
    }

    function updateRewardsGrowthGlobal() public {
        rewardGrowthGlobalX128 = rewardGrowthNow();
        lastUpdated = block.timestamp;
    }

    function rewardGrowthNow() public view returns (uint256) {
        if (stakedLiquidity == 0) return rewardGrowthGlobalX128;
        return rewardGrowthGlobalX128 + FullMath.mulDiv(rewardRate * (block.timestamp - lastUpdated), 1 << 128, stakedLiquidity);
    }

    function getRewardGrowthInside(int24 lower, int24 upper, uint256 global) external view returns (uint256) {
        return _inside(ticks[lower].rewardGrowthOutsideX128, ticks[upper].rewardGrowthOutsideX128, global == 0 ? rewardGrowthGlobalX128 : global, lower, upper);
    }

    function mint(address recipient, int24 lower, int24 upper, uint128 amount, bytes calldata data) external returns (uint256 amount0, uint256 amount1) {
        (int256 delta0, int256 delta1) = _modify(recipient, lower, upper, int128(amount));
        (amount0, amount1) = (uint256(delta0), uint256(delta1));
        IPoolCaller(msg.sender).uniswapV3MintCallback(amount0, amount1, data);
        emit Mint(msg.sender, recipient, lower, upper, amount, amount0, amount1);
    }

    function burn(int24 lower, int24 upper, uint128 amount) external returns (uint256, uint256) {
        return _burn(msg.sender, lower, upper, amount);
    }

    function burn(int24 lower, int24 upper, uint128 amount, address owner) external returns (uint256, uint256) {
        require(msg.sender == nft);
        return _burn(owner, lower, upper, amount);
    }

    function collect(address to, int24 lower, int24 upper, uint128 max0, uint128 max1) external returns (uint128, uint128) {
        return _collect(msg.sender, to, lower, upper, max0, max1);
    }

    function collect(address to, int24 lower, int24 upper, uint128 max0, uint128 max1, address owner) external returns (uint128, uint128) {
        require(msg.sender == nft);
        return _collect(owner, to, lower, upper, max0, max1);
    }

    /// Gives liquidity of the manager's account to the gauge's, whose fees nobody is credited with, or takes it back.
    function stake(int128 delta, int24 lower, int24 upper, bool moves) external {
        require(msg.sender == gauge);
        updateRewardsGrowthGlobal();
        if (slot0.tick >= lower && slot0.tick < upper) stakedLiquidity = LiquidityMath.addDelta(stakedLiquidity, delta);
        if (moves) {
            _update(nft, lower, upper, -delta);
            _update(gauge, lower, upper, delta);
        }
        ticks[lower].stakedLiquidityNet += delta;
        ticks[upper].stakedLiquidityNet -= delta;
    }

    struct Step {
        int24 next;
        bool initialized;
        uint160 target;
        uint256 amountIn;
        uint256 amountOut;
        uint256 feeAmount;
    }

    /// Swaps an exact amount in, to the end of the liquidity at most.
    function swap(bool zeroForOne, uint256 amount) external {
        updateRewardsGrowthGlobal();
        (uint256 left, uint256 out) = (amount, 0);
        while (left > 0) {
            Step memory step;
            (step.next, step.initialized) = tickBitmap.nextInitializedTickWithinOneWord(slot0.tick, tickSpacing, zeroForOne);
            step.target = TickMath.getSqrtRatioAtTick(step.next);
            (slot0.sqrtPriceX96, step.amountIn, step.amountOut, step.feeAmount) = SwapMath.computeSwapStep(slot0.sqrtPriceX96, step.target, liquidity, int256(left), fee);
            left -= step.amountIn + step.feeAmount;
            out += step.amountOut;
            if (liquidity > stakedLiquidity) _payFees(zeroForOne, FullMath.mulDiv(step.feeAmount, liquidity - stakedLiquidity, liquidity));
            if (slot0.sqrtPriceX96 != step.target) {
                slot0.tick = TickMath.getTickAtSqrtRatio(slot0.sqrtPriceX96);
                continue;
            }
            if (step.initialized) _cross(step.next, zeroForOne);
            slot0.tick = zeroForOne ? step.next - 1 : step.next;
        }
        IERC20(zeroForOne ? token0 : token1).transferFrom(msg.sender, address(this), amount);
        IERC20(zeroForOne ? token1 : token0).transfer(msg.sender, out);
    }

    function _payFees(bool zeroForOne, uint256 amount) private {
        uint256 growth = FullMath.mulDiv(amount, 1 << 128, liquidity - stakedLiquidity);
        if (zeroForOne) feeGrowthGlobal0X128 += growth;
        else feeGrowthGlobal1X128 += growth;
    }

    function _cross(int24 at, bool zeroForOne) private {
        TickInfo storage info = ticks[at];
        info.feeGrowthOutside0X128 = feeGrowthGlobal0X128 - info.feeGrowthOutside0X128;
        info.feeGrowthOutside1X128 = feeGrowthGlobal1X128 - info.feeGrowthOutside1X128;
        info.rewardGrowthOutsideX128 = rewardGrowthGlobalX128 - info.rewardGrowthOutsideX128;
        liquidity = LiquidityMath.addDelta(liquidity, zeroForOne ? -info.liquidityNet : info.liquidityNet);
        stakedLiquidity = LiquidityMath.addDelta(stakedLiquidity, zeroForOne ? -info.stakedLiquidityNet : info.stakedLiquidityNet);
    }

    function _burn(address owner, int24 lower, int24 upper, uint128 amount) private returns (uint256 amount0, uint256 amount1) {
        (int256 delta0, int256 delta1) = _modify(owner, lower, upper, -int128(amount));
        (amount0, amount1) = (uint256(-delta0), uint256(-delta1));
        Account storage account = _account(owner, lower, upper);
        account.tokensOwed0 += uint128(amount0);
        account.tokensOwed1 += uint128(amount1);
        emit Burn(owner, lower, upper, amount, amount0, amount1);
    }

    function _collect(address owner, address to, int24 lower, int24 upper, uint128 max0, uint128 max1) private returns (uint128 amount0, uint128 amount1) {
        Account storage account = _account(owner, lower, upper);
        amount0 = max0 < account.tokensOwed0 ? max0 : account.tokensOwed0;
        amount1 = max1 < account.tokensOwed1 ? max1 : account.tokensOwed1;
        account.tokensOwed0 -= amount0;
        account.tokensOwed1 -= amount1;
        if (amount0 > 0) IERC20(token0).transfer(to, amount0);
        if (amount1 > 0) IERC20(token1).transfer(to, amount1);
        emit Collect(owner, to, lower, upper, amount0, amount1);
    }

    function _modify(address owner, int24 lower, int24 upper, int128 delta) private returns (int256 amount0, int256 amount1) {
        if (delta != 0) {
            _updateTick(lower, delta, false);
            _updateTick(upper, delta, true);
        }
        _update(owner, lower, upper, delta);
        if (delta == 0) return (0, 0);
        (uint160 sqrtLower, uint160 sqrtUpper) = (TickMath.getSqrtRatioAtTick(lower), TickMath.getSqrtRatioAtTick(upper));
        uint160 price = slot0.sqrtPriceX96;
        if (slot0.tick < lower) return (SqrtPriceMath.getAmount0Delta(sqrtLower, sqrtUpper, delta), 0);
        if (slot0.tick >= upper) return (0, SqrtPriceMath.getAmount1Delta(sqrtLower, sqrtUpper, delta));
        liquidity = LiquidityMath.addDelta(liquidity, delta);
        return (SqrtPriceMath.getAmount0Delta(price, sqrtUpper, delta), SqrtPriceMath.getAmount1Delta(sqrtLower, price, delta));
    }

    function _updateTick(int24 at, int128 delta, bool isUpper) private {
        TickInfo storage info = ticks[at];
        uint128 before = info.liquidityGross;
        info.liquidityGross = LiquidityMath.addDelta(before, delta);
        info.liquidityNet += isUpper ? -delta : delta;
        if (before == 0 && at <= slot0.tick) {
            updateRewardsGrowthGlobal();
            (info.feeGrowthOutside0X128, info.feeGrowthOutside1X128) = (feeGrowthGlobal0X128, feeGrowthGlobal1X128);
            info.rewardGrowthOutsideX128 = rewardGrowthGlobalX128;
        }
        if ((before == 0) == (info.liquidityGross == 0)) return;
        info.initialized = before == 0;
        tickBitmap.flipTick(at, tickSpacing);
    }

    function _update(address owner, int24 lower, int24 upper, int128 delta) private {
        Account storage account = _account(owner, lower, upper);
        uint256 inside0 = _inside(ticks[lower].feeGrowthOutside0X128, ticks[upper].feeGrowthOutside0X128, feeGrowthGlobal0X128, lower, upper);
        uint256 inside1 = _inside(ticks[lower].feeGrowthOutside1X128, ticks[upper].feeGrowthOutside1X128, feeGrowthGlobal1X128, lower, upper);
        if (owner != gauge) {
            account.tokensOwed0 += uint128(FullMath.mulDiv(inside0 - account.feeGrowthInside0LastX128, account.liquidity, 1 << 128));
            account.tokensOwed1 += uint128(FullMath.mulDiv(inside1 - account.feeGrowthInside1LastX128, account.liquidity, 1 << 128));
        }
        (account.feeGrowthInside0LastX128, account.feeGrowthInside1LastX128) = (inside0, inside1);
        account.liquidity = LiquidityMath.addDelta(account.liquidity, delta);
    }

    function _inside(uint256 outsideLower, uint256 outsideUpper, uint256 global, int24 lower, int24 upper) private view returns (uint256) {
        uint256 below = slot0.tick >= lower ? outsideLower : global - outsideLower;
        uint256 above = slot0.tick < upper ? outsideUpper : global - outsideUpper;
        return global - below - above;
    }

    function _account(address owner, int24 lower, int24 upper) private view returns (Account storage) {
        return positions[keccak256(abi.encodePacked(owner, lower, upper))];
    }
}
