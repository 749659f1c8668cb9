// SPDX-License-Identifier: MIT
pragma solidity =0.7.6;
pragma abicoder v2;

import "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";
import "@uniswap/v3-core/contracts/libraries/TickMath.sol";
import "@uniswap/v3-periphery/contracts/libraries/LiquidityAmounts.sol";
import "@uniswap/v3-periphery/contracts/libraries/PositionKey.sol";

/// A vault for tests with the functions and events that Beefy publishes (BeefyVaultConcLiq.sol); all funds are in its
/// strategy. Prices of shares are simplified.
contract BeefyVault is ERC20 {
    BeefyStrategy public strategy;
    address public owner;

    event Deposit(address indexed user, uint256 shares, uint256 amount0, uint256 amount1, uint256 fee0, uint256 fee1);
    event Withdraw(address indexed user, uint256 shares, uint256 amount0, uint256 amount1);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    constructor(IUniswapV3Pool pool, address owner_, address recipient, address native) ERC20("CLM", "CLM") {
        strategy = new BeefyStrategy(pool, owner_, recipient, native);
        owner = owner_;
    }

    function transferOwnership(address newOwner) external {
        require(msg.sender == owner);
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function want() external view returns (address) {
        return address(strategy.pool());
    }

    function wants() public view returns (address, address) {
        return (strategy.lpToken0(), strategy.lpToken1());
    }

    function balances() public view returns (uint256, uint256) {
        return strategy.balances();
    }

    function deposit(uint256 amount0, uint256 amount1) external {
        (address token0, address token1) = wants();
        strategy.beforeAction();
        (uint256 total0, uint256 total1) = balances();
        uint256 supply = totalSupply();
        if (amount0 > 0) IERC20(token0).transferFrom(msg.sender, address(strategy), amount0);
        if (amount1 > 0) IERC20(token1).transferFrom(msg.sender, address(strategy), amount1);
        strategy.deposit();
        uint256 shares = amount0 > amount1 ? amount0 : amount1;
        if (supply > 0) shares = total0 > total1 ? (supply * amount0) / total0 : (supply * amount1) / total1;
        if (supply == 0) {
            _mint(address(0xdEaD), 1000);
            shares -= 1000;
        }
        _mint(msg.sender, shares);
        emit Deposit(msg.sender, shares, amount0, amount1, 0, 0);
    }

    function withdraw(uint256 shares) external {
        strategy.beforeAction();
        uint256 supply = totalSupply();
        _burn(msg.sender, shares);
        (uint256 total0, uint256 total1) = balances();
        (uint256 amount0, uint256 amount1) = ((total0 * shares) / supply, (total1 * shares) / supply);
        strategy.withdraw(amount0, amount1);
        (address token0, address token1) = wants();
        IERC20(token0).transfer(msg.sender, amount0);
        IERC20(token1).transfer(msg.sender, amount1);
        emit Withdraw(msg.sender, shares, amount0, amount1);
    }
}

/// As Beefy's strategies on Uniswap v3 (StrategyPassiveManagerUniswap.sol): two positions in the pool itself, claimed
/// fees that are harvested later, and harvested profit that is unlocked over six hours.
contract BeefyStrategy {
    struct Position {
        int24 tickLower;
        int24 tickUpper;
    }

    uint256 private constant DURATION = 6 hours;
    IUniswapV3Pool public immutable pool;
    address public immutable lpToken0;
    address public immutable lpToken1;
    address public immutable vault;
    address public immutable native;
    address private immutable _owner;
    address private immutable _recipient;
    Position public positionMain;
    Position public positionAlt;
    uint256 public fees0;
    uint256 public fees1;
    uint256 public totalLocked0;
    uint256 public totalLocked1;
    uint256 public lastHarvest;
    bool public paused;

    event TVL(uint256 bal0, uint256 bal1);
    event Harvest(uint256 fee0, uint256 fee1);
    event ChargedFees(uint256 callFeeAmount, uint256 beefyFeeAmount, uint256 strategistFeeAmount);
    event ClaimedFees(uint256 feeMain0, uint256 feeMain1, uint256 feeAlt0, uint256 feeAlt1);
    event Paused(address account);
    event Unpaused(address account);

    modifier onlyVault() {
        require(msg.sender == vault);
        _;
    }

    constructor(IUniswapV3Pool pool_, address owner_, address recipient, address native_) {
        (pool, lpToken0, lpToken1) = (pool_, pool_.token0(), pool_.token1());
        (vault, _owner, _recipient, native) = (msg.sender, owner_, recipient, native_);
        _setTicks(pool_, 600);
    }

    function beforeAction() external onlyVault {
        _claim();
        _remove();
    }

    function deposit() external onlyVault {
        _add();
        (uint256 total0, uint256 total1) = balances();
        emit TVL(total0, total1);
    }

    function withdraw(uint256 amount0, uint256 amount1) external onlyVault {
        IERC20(lpToken0).transfer(vault, amount0);
        IERC20(lpToken1).transfer(vault, amount1);
        if (!paused) _add();
    }

    function claimEarnings() external {
        _claim();
    }

    /// Charges a part of the claimed fees: of the native token in it, of the other one nothing.
    function harvest() external {
        _claim();
        _remove();
        uint256 charged0 = lpToken0 == native ? fees0 / 10 : 0;
        uint256 charged1 = lpToken1 == native ? fees1 / 10 : 0;
        uint256 charged = charged0 + charged1;
        IERC20(native).transfer(_recipient, charged);
        emit ChargedFees(charged / 100, charged - charged / 100 - charged / 20, charged / 20);
        _add();
        (uint256 locked0, uint256 locked1) = lockedProfit();
        (totalLocked0, totalLocked1) = (fees0 - charged0 + locked0, fees1 - charged1 + locked1);
        emit Harvest(fees0 - charged0, fees1 - charged1);
        (fees0, fees1, lastHarvest) = (0, 0, block.timestamp);
    }

    function moveTicks(int24 width) external {
        require(msg.sender == _owner);
        _claim();
        _remove();
        _setTicks(pool, width);
        _add();
    }

    function panic() external {
        require(msg.sender == _owner);
        _claim();
        _remove();
        paused = true;
        emit Paused(msg.sender);
    }

    function unpause() external {
        require(msg.sender == _owner);
        paused = false;
        emit Unpaused(msg.sender);
        _add();
    }

    function balancesOfThis() public view returns (uint256, uint256) {
        return (IERC20(lpToken0).balanceOf(address(this)), IERC20(lpToken1).balanceOf(address(this)));
    }

    function balancesOfPool() public view returns (uint256 total0, uint256 total1, uint256 main0, uint256 main1, uint256 alt0, uint256 alt1) {
        (main0, main1) = _amountsOf(positionMain);
        (alt0, alt1) = _amountsOf(positionAlt);
        (total0, total1) = (main0 + alt0, main1 + alt1);
    }

    function lockedProfit() public view returns (uint256 locked0, uint256 locked1) {
        (uint256 all0, uint256 all1) = _all();
        uint256 elapsed = block.timestamp - lastHarvest;
        uint256 remaining = elapsed < DURATION ? DURATION - elapsed : 0;
        locked0 = ((all0 > totalLocked0 ? totalLocked0 : all0) * remaining) / DURATION;
        locked1 = ((all1 > totalLocked1 ? totalLocked1 : all1) * remaining) / DURATION;
    }

    function balances() public view returns (uint256 total0, uint256 total1) {
        (total0, total1) = _all();
        (uint256 locked0, uint256 locked1) = lockedProfit();
        (total0, total1) = (total0 - locked0, total1 - locked1);
        total0 -= fees0 > total0 ? total0 : fees0;
        total1 -= fees1 > total1 ? total1 : fees1;
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        require(msg.sender == address(pool));
        if (amount0 > 0) IERC20(lpToken0).transfer(msg.sender, amount0);
        if (amount1 > 0) IERC20(lpToken1).transfer(msg.sender, amount1);
    }

    function _all() private view returns (uint256 all0, uint256 all1) {
        (uint256 idle0, uint256 idle1) = balancesOfThis();
        (uint256 pool0, uint256 pool1, , , , ) = balancesOfPool();
        return (idle0 + pool0, idle1 + pool1);
    }

    function _setTicks(IUniswapV3Pool place, int24 width) private {
        (, int24 tick, , , , , ) = place.slot0();
        int24 middle = (tick / 10) * 10;
        positionMain = Position(middle - width, middle + width);
        positionAlt = Position(middle + 10, middle + width);
    }

    function _claim() private {
        (uint256 main0, uint256 main1) = _claimFrom(positionMain);
        (uint256 alt0, uint256 alt1) = _claimFrom(positionAlt);
        (fees0, fees1) = (fees0 + main0 + alt0, fees1 + main1 + alt1);
        emit ClaimedFees(main0, main1, alt0, alt1);
    }

    function _claimFrom(Position memory p) private returns (uint256, uint256) {
        if (_liquidityOf(p) > 0) pool.burn(p.tickLower, p.tickUpper, 0);
        return pool.collect(address(this), p.tickLower, p.tickUpper, type(uint128).max, type(uint128).max);
    }

    function _remove() private {
        _removeFrom(positionMain);
        _removeFrom(positionAlt);
    }

    function _removeFrom(Position memory p) private {
        uint128 liquidity = _liquidityOf(p);
        if (liquidity == 0) return;
        pool.burn(p.tickLower, p.tickUpper, liquidity);
        pool.collect(address(this), p.tickLower, p.tickUpper, type(uint128).max, type(uint128).max);
    }

    function _add() private {
        _addTo(positionMain);
        _addTo(positionAlt);
    }

    function _addTo(Position memory p) private {
        (uint256 idle0, uint256 idle1) = balancesOfThis();
        (uint160 price, , , , , , ) = pool.slot0();
        uint128 liquidity = LiquidityAmounts.getLiquidityForAmounts(price, TickMath.getSqrtRatioAtTick(p.tickLower), TickMath.getSqrtRatioAtTick(p.tickUpper), idle0, idle1);
        if (liquidity > 0) pool.mint(address(this), p.tickLower, p.tickUpper, liquidity, "");
    }

    function _liquidityOf(Position memory p) private view returns (uint128 liquidity) {
        (liquidity, , , , ) = pool.positions(PositionKey.compute(address(this), p.tickLower, p.tickUpper));
    }

    function _amountsOf(Position memory p) private view returns (uint256 amount0, uint256 amount1) {
        (uint128 liquidity, , , uint128 owed0, uint128 owed1) = pool.positions(PositionKey.compute(address(this), p.tickLower, p.tickUpper));
        (uint160 price, , , , , , ) = pool.slot0();
        (amount0, amount1) = LiquidityAmounts.getAmountsForLiquidity(price, TickMath.getSqrtRatioAtTick(p.tickLower), TickMath.getSqrtRatioAtTick(p.tickUpper), liquidity);
        (amount0, amount1) = (amount0 + owed0, amount1 + owed1);
    }
}
