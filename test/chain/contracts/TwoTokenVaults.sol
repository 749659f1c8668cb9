// SPDX-License-Identifier: MIT
pragma solidity =0.7.6;

import "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import "@openzeppelin/contracts/token/ERC20/SafeERC20.sol";
import "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";
import "@uniswap/v3-core/contracts/interfaces/callback/IUniswapV3MintCallback.sol";
import "@uniswap/v3-core/contracts/libraries/TickMath.sol";
import "@uniswap/v3-periphery/contracts/libraries/LiquidityAmounts.sol";
import "@uniswap/v3-periphery/contracts/libraries/PositionKey.sol";

/// Vaults for tests whose shares stand for two tokens, with the functions and events that the contracts of Gamma
/// (Hypervisor.sol), Charm (AlphaVault.sol) and ICHI (ICHIVault.sol) publish. Prices of shares are simplified.
abstract contract TwoTokenVault is ERC20, IUniswapV3MintCallback {
    using SafeERC20 for IERC20;
    using SafeMath for uint256;

    IUniswapV3Pool public immutable pool;
    IERC20 public immutable token0;
    IERC20 public immutable token1;
    int24 public baseLower;
    int24 public baseUpper;
    int24 public limitLower;
    int24 public limitUpper;

    event Deposit(address indexed sender, address indexed to, uint256 shares, uint256 amount0, uint256 amount1);
    event Withdraw(address indexed sender, address indexed to, uint256 shares, uint256 amount0, uint256 amount1);

    constructor(IUniswapV3Pool pool_) ERC20("Two-token share", "TWO") {
        pool = pool_;
        token0 = IERC20(pool_.token0());
        token1 = IERC20(pool_.token1());
    }

    function deposit(uint256 amount0, uint256 amount1, address to) external returns (uint256 shares) {
        _beforeFlow();
        (uint256 total0, uint256 total1) = getTotalAmounts();
        uint256 supply = totalSupply();
        if (supply == 0) shares = amount0 > amount1 ? amount0 : amount1;
        else shares = total0 > total1 ? supply.mul(amount0).div(total0) : supply.mul(amount1).div(total1);
        if (amount0 > 0) token0.safeTransferFrom(msg.sender, address(this), amount0);
        if (amount1 > 0) token1.safeTransferFrom(msg.sender, address(this), amount1);
        _mint(to, shares);
        emit Deposit(msg.sender, to, shares, amount0, amount1);
    }

    /// Pays the part of liquidity out of the pool itself, and the part of what lies idle.
    function withdraw(uint256 shares, address to) external returns (uint256 amount0, uint256 amount1) {
        _beforeFlow();
        uint256 supply = totalSupply();
        amount0 = getBalance0().mul(shares).div(supply);
        amount1 = getBalance1().mul(shares).div(supply);
        if (amount0 > 0) token0.safeTransfer(to, amount0);
        if (amount1 > 0) token1.safeTransfer(to, amount1);
        (uint256 base0, uint256 base1) = _payOut(baseLower, baseUpper, shares, supply, to);
        (uint256 limit0, uint256 limit1) = _payOut(limitLower, limitUpper, shares, supply, to);
        amount0 = amount0.add(base0).add(limit0);
        amount1 = amount1.add(base1).add(limit1);
        _burn(msg.sender, shares);
        emit Withdraw(msg.sender, to, shares, amount0, amount1);
    }

    function getTotalAmounts() public view returns (uint256 total0, uint256 total1) {
        (uint256 base0, uint256 base1) = getPositionAmounts(baseLower, baseUpper);
        (uint256 limit0, uint256 limit1) = getPositionAmounts(limitLower, limitUpper);
        total0 = getBalance0().add(base0).add(limit0);
        total1 = getBalance1().add(base1).add(limit1);
    }

    function getPositionAmounts(int24 lower, int24 upper) public view returns (uint256 amount0, uint256 amount1) {
        (uint128 liquidity, uint128 owed0, uint128 owed1) = _position(lower, upper);
        (uint160 price, , , , , , ) = pool.slot0();
        (amount0, amount1) = LiquidityAmounts.getAmountsForLiquidity(
            price,
            TickMath.getSqrtRatioAtTick(lower),
            TickMath.getSqrtRatioAtTick(upper),
            liquidity
        );
        amount0 = amount0.add(_counted(owed0));
        amount1 = amount1.add(_counted(owed1));
    }

    function getBalance0() public view virtual returns (uint256) {
        return token0.balanceOf(address(this));
    }

    function getBalance1() public view virtual returns (uint256) {
        return token1.balanceOf(address(this));
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external override {
        require(msg.sender == address(pool));
        if (amount0 > 0) token0.safeTransfer(msg.sender, amount0);
        if (amount1 > 0) token1.safeTransfer(msg.sender, amount1);
    }

    function _beforeFlow() internal virtual;

    function _counted(uint128 owed) internal view virtual returns (uint256) {
        return owed;
    }

    function _place(int24 lower, int24 upper) internal {
        (uint160 price, , , , , , ) = pool.slot0();
        uint128 liquidity = LiquidityAmounts.getLiquidityForAmounts(
            price,
            TickMath.getSqrtRatioAtTick(lower),
            TickMath.getSqrtRatioAtTick(upper),
            getBalance0(),
            getBalance1()
        );
        if (liquidity > 0) pool.mint(address(this), lower, upper, liquidity, "");
    }

    function _placeAll(int24[4] memory ranges) internal {
        _place(ranges[0], ranges[1]);
        (baseLower, baseUpper) = (ranges[0], ranges[1]);
        _place(ranges[2], ranges[3]);
        (limitLower, limitUpper) = (ranges[2], ranges[3]);
    }

    function _position(int24 lower, int24 upper) internal view returns (uint128 liquidity, uint128 owed0, uint128 owed1) {
        (liquidity, , , owed0, owed1) = pool.positions(PositionKey.compute(address(this), lower, upper));
    }

    function _collectAll(int24 lower, int24 upper) internal returns (uint256, uint256) {
        return pool.collect(address(this), lower, upper, type(uint128).max, type(uint128).max);
    }

    function _payOut(int24 lower, int24 upper, uint256 shares, uint256 supply, address to)
        internal
        returns (uint256 amount0, uint256 amount1)
    {
        (uint128 all, , ) = _position(lower, upper);
        uint128 liquidity = uint128(uint256(all).mul(shares).div(supply));
        if (liquidity == 0) return (0, 0);
        (amount0, amount1) = pool.burn(lower, upper, liquidity);
        pool.collect(to, lower, upper, uint128(amount0), uint128(amount1));
    }
}

/// As Gamma's Hypervisor: fees are collected, and a part of them paid, before each flow.
contract GammaVault is TwoTokenVault {
    using SafeERC20 for IERC20;

    address public owner;
    uint8 public fee = 10;
    address public feeRecipient;

    event ZeroBurn(uint8 fee, uint256 fees0, uint256 fees1);
    event Rebalance(
        int24 tick,
        uint256 totalAmount0,
        uint256 totalAmount1,
        uint256 feeAmount0,
        uint256 feeAmount1,
        uint256 totalSupply
    );

    constructor(IUniswapV3Pool pool_, address owner_, address recipient) TwoTokenVault(pool_) {
        owner = owner_;
        feeRecipient = recipient;
    }

    function rebalance(int24[4] memory ranges) external {
        require(msg.sender == owner);
        _beforeFlow();
        _burnAll(baseLower, baseUpper);
        _burnAll(limitLower, limitUpper);
        (, int24 tick, , , , , ) = pool.slot0();
        emit Rebalance(tick, getBalance0(), getBalance1(), 0, 0, totalSupply());
        _placeAll(ranges);
    }

    /// Credits the fees without collecting them.
    function poke() external {
        pool.burn(baseLower, baseUpper, 0);
    }

    function _beforeFlow() internal override {
        _zeroBurn(baseLower, baseUpper);
        _zeroBurn(limitLower, limitUpper);
    }

    function _zeroBurn(int24 lower, int24 upper) private {
        (uint128 liquidity, , ) = _position(lower, upper);
        if (liquidity == 0) return;
        pool.burn(lower, upper, 0);
        (uint256 owed0, uint256 owed1) = _collectAll(lower, upper);
        emit ZeroBurn(fee, owed0, owed1);
        if (owed0 / fee > 0) token0.safeTransfer(feeRecipient, owed0 / fee);
        if (owed1 / fee > 0) token1.safeTransfer(feeRecipient, owed1 / fee);
    }

    function _burnAll(int24 lower, int24 upper) private {
        (uint128 liquidity, , ) = _position(lower, upper);
        if (liquidity == 0) return;
        pool.burn(lower, upper, liquidity);
        _collectAll(lower, upper);
    }
}

/// As Charm's Alpha Vault: the protocol's part of fees stays in the vault until it is collected.
contract CharmVault is TwoTokenVault {
    using SafeERC20 for IERC20;
    using SafeMath for uint256;

    address public governance;
    uint256 public protocolFee = 50_000;
    uint256 public accruedProtocolFees0;
    uint256 public accruedProtocolFees1;

    event CollectFees(
        uint256 feesToVault0,
        uint256 feesToVault1,
        uint256 feesToProtocol0,
        uint256 feesToProtocol1
    );

    constructor(IUniswapV3Pool pool_, address governance_) TwoTokenVault(pool_) {
        governance = governance_;
    }

    function rebalance(int24[4] memory ranges) external {
        require(msg.sender == governance);
        _burnAndCollect(baseLower, baseUpper);
        _burnAndCollect(limitLower, limitUpper);
        _placeAll(ranges);
    }

    function collectProtocol(address to) external {
        require(msg.sender == governance);
        token0.safeTransfer(to, accruedProtocolFees0);
        token1.safeTransfer(to, accruedProtocolFees1);
        accruedProtocolFees0 = 0;
        accruedProtocolFees1 = 0;
    }

    function getBalance0() public view override returns (uint256) {
        return super.getBalance0().sub(accruedProtocolFees0);
    }

    function getBalance1() public view override returns (uint256) {
        return super.getBalance1().sub(accruedProtocolFees1);
    }

    function _beforeFlow() internal override {
        _poke(baseLower, baseUpper);
        _poke(limitLower, limitUpper);
    }

    function _counted(uint128 owed) internal view override returns (uint256) {
        return uint256(owed).mul(uint256(1e6).sub(protocolFee)).div(1e6);
    }

    function _poke(int24 lower, int24 upper) private {
        (uint128 liquidity, , ) = _position(lower, upper);
        if (liquidity > 0) pool.burn(lower, upper, 0);
    }

    function _burnAndCollect(int24 lower, int24 upper) private {
        (uint128 liquidity, , ) = _position(lower, upper);
        if (liquidity == 0) return;
        (uint256 burned0, uint256 burned1) = pool.burn(lower, upper, liquidity);
        (uint256 collected0, uint256 collected1) = _collectAll(lower, upper);
        uint256 fees0 = collected0.sub(burned0);
        uint256 fees1 = collected1.sub(burned1);
        uint256 protocol0 = fees0.mul(protocolFee).div(1e6);
        uint256 protocol1 = fees1.mul(protocolFee).div(1e6);
        accruedProtocolFees0 = accruedProtocolFees0.add(protocol0);
        accruedProtocolFees1 = accruedProtocolFees1.add(protocol1);
        emit CollectFees(fees0.sub(protocol0), fees1.sub(protocol1), protocol0, protocol1);
    }
}

/// As ICHI's vault: a part of the fees, which its factory tells, is paid at each rebalance and collection.
contract IchiVault is TwoTokenVault {
    using SafeERC20 for IERC20;
    using SafeMath for uint256;

    address public owner;
    /// Tells the part; it is the vault itself here.
    address public ichiVaultFactory;
    uint256 public baseFee = 15e16;
    address public feeRecipient;

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event CollectFees(address indexed sender, uint256 feeAmount0, uint256 feeAmount1);
    event Rebalance(
        int24 tick,
        uint256 totalAmount0,
        uint256 totalAmount1,
        uint256 feeAmount0,
        uint256 feeAmount1,
        uint256 totalSupply
    );

    constructor(IUniswapV3Pool pool_, address owner_, address recipient) TwoTokenVault(pool_) {
        owner = owner_;
        feeRecipient = recipient;
        ichiVaultFactory = address(this);
        emit OwnershipTransferred(address(0), owner_);
    }

    function transferOwnership(address newOwner) external {
        require(msg.sender == owner);
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function rebalance(int24[4] memory ranges) external {
        require(msg.sender == owner);
        (uint256 base0, uint256 base1) = _earn(baseLower, baseUpper, true);
        (uint256 limit0, uint256 limit1) = _earn(limitLower, limitUpper, true);
        _distribute(base0.add(limit0), base1.add(limit1));
        (, int24 tick, , , , , ) = pool.slot0();
        emit Rebalance(tick, getBalance0(), getBalance1(), base0.add(limit0), base1.add(limit1), totalSupply());
        _placeAll(ranges);
    }

    function collectFees() external {
        (uint256 base0, uint256 base1) = _earn(baseLower, baseUpper, false);
        (uint256 limit0, uint256 limit1) = _earn(limitLower, limitUpper, false);
        _distribute(base0.add(limit0), base1.add(limit1));
        emit CollectFees(msg.sender, base0.add(limit0), base1.add(limit1));
    }

    function _beforeFlow() internal override {}

    function _earn(int24 lower, int24 upper, bool all) private returns (uint256, uint256) {
        (uint128 liquidity, , ) = _position(lower, upper);
        if (liquidity == 0) return (0, 0);
        (uint256 burned0, uint256 burned1) = pool.burn(lower, upper, all ? liquidity : 0);
        (uint256 collected0, uint256 collected1) = _collectAll(lower, upper);
        return (collected0.sub(burned0), collected1.sub(burned1));
    }

    function _distribute(uint256 fees0, uint256 fees1) private {
        token0.safeTransfer(feeRecipient, fees0.mul(baseFee).div(1e18));
        token1.safeTransfer(feeRecipient, fees1.mul(baseFee).div(1e18));
    }
}

/// Tells one unit more than it has.
contract BoastfulVault is GammaVault {
    constructor(IUniswapV3Pool pool_, address owner_, address recipient) GammaVault(pool_, owner_, recipient) {}

    function getBalance0() public view override returns (uint256) {
        return super.getBalance0() + 1;
    }
}
