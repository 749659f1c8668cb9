// SPDX-License-Identifier: GPL-2.0-or-later
pragma solidity =0.7.6;
pragma abicoder v2;

import "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import "@uniswap/v3-core/contracts/libraries/FullMath.sol";
import "@uniswap/v3-core/contracts/libraries/TickMath.sol";
import "@uniswap/v3-periphery/contracts/libraries/LiquidityAmounts.sol";
import "@uniswap/v3-periphery/contracts/libraries/PositionKey.sol";

interface IClPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function gauge() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24 tick);
    function positions(bytes32 key) external view returns (uint128, uint256 inside0, uint256 inside1, uint128, uint128);
    function mint(address recipient, int24 lower, int24 upper, uint128 amount, bytes calldata data) external returns (uint256, uint256);
    function burn(int24 lower, int24 upper, uint128 amount) external returns (uint256, uint256);
    function burn(int24 lower, int24 upper, uint128 amount, address owner) external returns (uint256, uint256);
    function collect(address to, int24 lower, int24 upper, uint128 max0, uint128 max1) external returns (uint128, uint128);
    function collect(address to, int24 lower, int24 upper, uint128 max0, uint128 max1, address owner) external returns (uint128, uint128);
    function stake(int128 delta, int24 lower, int24 upper, bool moves) external;
    function updateRewardsGrowthGlobal() external;
    function rewardGrowthNow() external view returns (uint256);
    function getRewardGrowthInside(int24 lower, int24 upper, uint256 global) external view returns (uint256);
}

/// A manager of positions as NFTs for tests, with the functions and events of the NonfungiblePositionManager that
/// PancakeSwap v3 and Slipstream publish. It is given the pool where theirs compute its address.
contract ClManager is ERC721 {
    struct Position {
        IClPool pool;
        uint24 poolTerm;
        int24 lower;
        int24 upper;
        uint128 liquidity;
        uint256 inside0;
        uint256 inside1;
        uint128 owed0;
        uint128 owed1;
    }

    struct CollectParams {
        uint256 tokenId;
        address recipient;
        uint128 amount0Max;
        uint128 amount1Max;
    }

    address public immutable factory;
    bool public immutable hasGauges;
    uint256 private _count;
    mapping(uint256 => Position) private _positions;

    event IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1);
    event DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1);
    event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1);

    constructor(address factory_, bool hasGauges_) ERC721("Positions", "POS") {
        (factory, hasGauges) = (factory_, hasGauges_);
    }

    function positions(uint256 id) external view returns (uint96, address, address, address, uint24, int24, int24, uint128, uint256, uint256, uint128, uint128) {
        Position memory p = _positions[id];
        require(address(p.pool) != address(0), "ID");
        return (0, address(0), p.pool.token0(), p.pool.token1(), p.poolTerm, p.lower, p.upper, p.liquidity, p.inside0, p.inside1, p.owed0, p.owed1);
    }

    /// @param poolTerm the fee of the pool, or its tick spacing
    function mint(IClPool pool, uint24 poolTerm, int24 lower, int24 upper, uint256 amount0, uint256 amount1, address to) external returns (uint256 id) {
        _mint(to, id = ++_count);
        Position storage p = _positions[id];
        (p.pool, p.poolTerm, p.lower, p.upper) = (pool, poolTerm, lower, upper);
        _add(id, msg.sender, amount0, amount1);
    }

    function increase(uint256 id, uint256 amount0, uint256 amount1) external returns (uint128) {
        return _add(id, msg.sender, amount0, amount1);
    }

    function decrease(uint256 id, uint128 liquidity) external returns (uint256 amount0, uint256 amount1) {
        require(_isApprovedOrOwner(msg.sender, id));
        Position storage p = _positions[id];
        (amount0, amount1) = _isStaked(id) ? p.pool.burn(p.lower, p.upper, liquidity, ownerOf(id)) : p.pool.burn(p.lower, p.upper, liquidity);
        _credit(id);
        p.owed0 += uint128(amount0);
        p.owed1 += uint128(amount1);
        p.liquidity -= liquidity;
        emit DecreaseLiquidity(id, liquidity, amount0, amount1);
    }

    function collect(CollectParams calldata params) external returns (uint256 amount0, uint256 amount1) {
        uint256 id = params.tokenId;
        require(_isApprovedOrOwner(msg.sender, id));
        Position storage p = _positions[id];
        bool staked = _isStaked(id);
        if (p.liquidity > 0) {
            if (staked) p.pool.burn(p.lower, p.upper, 0, ownerOf(id));
            else p.pool.burn(p.lower, p.upper, 0);
            _credit(id);
        }
        uint128 max0 = params.amount0Max > p.owed0 ? p.owed0 : params.amount0Max;
        uint128 max1 = params.amount1Max > p.owed1 ? p.owed1 : params.amount1Max;
        (amount0, amount1) = staked
            ? p.pool.collect(params.recipient, p.lower, p.upper, max0, max1, ownerOf(id))
            : p.pool.collect(params.recipient, p.lower, p.upper, max0, max1);
        (p.owed0, p.owed1) = (p.owed0 - max0, p.owed1 - max1);
        emit Collect(id, params.recipient, max0, max1);
    }

    function burn(uint256 id) external {
        Position memory p = _positions[id];
        require(p.liquidity == 0 && p.owed0 == 0 && p.owed1 == 0 && _isApprovedOrOwner(msg.sender, id));
        delete _positions[id];
        _burn(id);
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external {
        address payer = abi.decode(data, (address));
        if (amount0 > 0) IERC20(IClPool(msg.sender).token0()).transferFrom(payer, msg.sender, amount0);
        if (amount1 > 0) IERC20(IClPool(msg.sender).token1()).transferFrom(payer, msg.sender, amount1);
    }

    function pancakeV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external {
        this.pay(msg.sender, amount0, amount1, abi.decode(data, (address)));
    }

    function pay(address pool, uint256 amount0, uint256 amount1, address payer) external {
        require(msg.sender == address(this));
        if (amount0 > 0) IERC20(IClPool(pool).token0()).transferFrom(payer, pool, amount0);
        if (amount1 > 0) IERC20(IClPool(pool).token1()).transferFrom(payer, pool, amount1);
    }

    function _add(uint256 id, address payer, uint256 amount0, uint256 amount1) private returns (uint128 liquidity) {
        Position storage p = _positions[id];
        (uint160 price, ) = p.pool.slot0();
        liquidity = LiquidityAmounts.getLiquidityForAmounts(price, TickMath.getSqrtRatioAtTick(p.lower), TickMath.getSqrtRatioAtTick(p.upper), amount0, amount1);
        (amount0, amount1) = p.pool.mint(_account(id), p.lower, p.upper, liquidity, abi.encode(payer));
        _credit(id);
        p.liquidity += liquidity;
        emit IncreaseLiquidity(id, liquidity, amount0, amount1);
    }

    /// Credits the fees since the last change, which a gauge's positions have none of.
    function _credit(uint256 id) private {
        Position storage p = _positions[id];
        (, uint256 inside0, uint256 inside1, , ) = p.pool.positions(PositionKey.compute(_account(id), p.lower, p.upper));
        if (!_isStaked(id)) {
            p.owed0 += uint128(FullMath.mulDiv(inside0 - p.inside0, p.liquidity, 1 << 128));
            p.owed1 += uint128(FullMath.mulDiv(inside1 - p.inside1, p.liquidity, 1 << 128));
        }
        (p.inside0, p.inside1) = (inside0, inside1);
    }

    function _account(uint256 id) private view returns (address) {
        return _isStaked(id) ? ownerOf(id) : address(this);
    }

    function _isStaked(uint256 id) private view returns (bool) {
        return hasGauges && ownerOf(id) == _positions[id].pool.gauge();
    }
}

/// Holds positions and pays emissions for them, with the functions and events that Slipstream's CLGauge publishes.
contract ClGauge {
    ClManager public immutable nft;
    IClPool public immutable pool;
    address public immutable rewardToken;
    mapping(uint256 => uint256) public rewards;
    mapping(uint256 => uint256) public rewardGrowthInside;
    mapping(uint256 => address) private _stakedBy;

    event Deposit(address indexed user, uint256 indexed tokenId, uint128 indexed liquidityToStake);
    event Withdraw(address indexed user, uint256 indexed tokenId, uint128 indexed liquidityToStake);
    event ClaimRewards(address indexed from, uint256 amount);

    constructor(ClManager nft_, IClPool pool_, address rewardToken_) {
        (nft, pool, rewardToken) = (nft_, pool_, rewardToken_);
    }

    function stakedContains(address account, uint256 id) external view returns (bool) {
        return _stakedBy[id] == account;
    }

    function earned(address account, uint256 id) external view returns (uint256) {
        require(_stakedBy[id] == account, "NA");
        return _earned(id);
    }

    function deposit(uint256 id) external {
        _collect(id, type(uint128).max, type(uint128).max);
        nft.safeTransferFrom(msg.sender, address(this), id);
        _stakedBy[id] = msg.sender;
        (int24 lower, int24 upper, uint128 liquidity) = _terms(id);
        pool.stake(int128(liquidity), lower, upper, true);
        rewardGrowthInside[id] = pool.getRewardGrowthInside(lower, upper, 0);
        emit Deposit(msg.sender, id, liquidity);
    }

    function withdraw(uint256 id) external {
        require(_stakedBy[id] == msg.sender, "NA");
        _collect(id, type(uint128).max, type(uint128).max);
        getReward(id);
        (int24 lower, int24 upper, uint128 liquidity) = _terms(id);
        if (liquidity > 0) pool.stake(-int128(liquidity), lower, upper, true);
        delete _stakedBy[id];
        nft.safeTransferFrom(address(this), msg.sender, id);
        emit Withdraw(msg.sender, id, liquidity);
    }

    function getReward(uint256 id) public {
        require(_stakedBy[id] == msg.sender, "NA");
        _updateRewards(id);
        uint256 reward = rewards[id];
        if (reward == 0) return;
        rewards[id] = 0;
        IERC20(rewardToken).transfer(msg.sender, reward);
        emit ClaimRewards(msg.sender, reward);
    }

    function decreaseStakedLiquidity(uint256 id, uint128 liquidity) external {
        require(_stakedBy[id] == msg.sender, "NA");
        _updateRewards(id);
        (uint256 amount0, uint256 amount1) = nft.decrease(id, liquidity);
        (int24 lower, int24 upper, ) = _terms(id);
        pool.stake(-int128(liquidity), lower, upper, false);
        _collect(id, uint128(amount0), uint128(amount1));
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return 0x150b7a02;
    }

    function _updateRewards(uint256 id) private {
        (int24 lower, int24 upper, ) = _terms(id);
        rewards[id] += _earned(id);
        pool.updateRewardsGrowthGlobal();
        rewardGrowthInside[id] = pool.getRewardGrowthInside(lower, upper, 0);
    }

    function _earned(uint256 id) private view returns (uint256) {
        (int24 lower, int24 upper, uint128 liquidity) = _terms(id);
        uint256 inside = pool.getRewardGrowthInside(lower, upper, pool.rewardGrowthNow());
        return FullMath.mulDiv(inside - rewardGrowthInside[id], liquidity, 1 << 128);
    }

    function _terms(uint256 id) private view returns (int24 lower, int24 upper, uint128 liquidity) {
        (, , , , , lower, upper, liquidity, , , , ) = nft.positions(id);
    }

    function _collect(uint256 id, uint128 max0, uint128 max1) private {
        nft.collect(ClManager.CollectParams(id, msg.sender, max0, max1));
    }
}

/// Takes everything out of positions in the name of the account whose code it replaces in a simulated call.
contract ClPayout {
    struct Paid {
        uint256 rewards0;
        uint256 rewards1;
        uint256 emissions;
    }

    /// Returns the rewards of each position, and the balances after all was taken out.
    function takeAll(ClManager manager, uint256[] memory ids, address[] memory tokens) external returns (Paid[] memory paid, uint256[] memory balances) {
        paid = new Paid[](ids.length);
        for (uint256 i = 0; i < ids.length; i++) {
            if (manager.ownerOf(ids[i]) != address(this)) {
                ClGauge gauge = ClGauge(manager.ownerOf(ids[i]));
                uint256 before = IERC20(gauge.rewardToken()).balanceOf(address(this));
                gauge.withdraw(ids[i]);
                paid[i].emissions = IERC20(gauge.rewardToken()).balanceOf(address(this)) - before;
            }
            (paid[i].rewards0, paid[i].rewards1) = manager.collect(ClManager.CollectParams(ids[i], address(this), type(uint128).max, type(uint128).max));
            (, , , , , , , uint128 liquidity, , , , ) = manager.positions(ids[i]);
            if (liquidity > 0) manager.decrease(ids[i], liquidity);
            manager.collect(ClManager.CollectParams(ids[i], address(this), type(uint128).max, type(uint128).max));
        }
        balances = new uint256[](tokens.length);
        for (uint256 i = 0; i < tokens.length; i++) balances[i] = IERC20(tokens[i]).balanceOf(address(this));
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return 0x150b7a02;
    }
}

/// Holds data as its code, which costs less than storage.
contract CodeStore {
    constructor(bytes memory code) {
        assembly {
            return(add(code, 32), mload(code))
        }
    }
}

/// Creates pools of PancakeSwap v3 for its factory, as PancakeV3PoolDeployer does, from code that it is given.
contract PoolDeployer {
    struct Parameters {
        address factory;
        address token0;
        address token1;
        uint24 fee;
        int24 tickSpacing;
    }

    Parameters public parameters;
    address private immutable _store;

    constructor(bytes memory code) {
        _store = address(new CodeStore(code));
    }

    function deploy(address factory, address token0, address token1, uint24 fee, int24 tickSpacing) external returns (address pool) {
        parameters = Parameters(factory, token0, token1, fee, tickSpacing);
        address store = _store;
        assembly {
            let code := mload(64)
            extcodecopy(store, code, 0, extcodesize(store))
            pool := create(0, code, extcodesize(store))
        }
        require(pool != address(0));
    }
}

/// Swaps in a pool of PancakeSwap v3, out of its own balances.
contract PancakeTrader {
    function swap(address pool, bool zeroForOne, int256 amount) external {
        IPancakePool(pool).swap(address(this), zeroForOne, amount, zeroForOne ? TickMath.MIN_SQRT_RATIO + 1 : TickMath.MAX_SQRT_RATIO - 1, "");
    }

    function pancakeV3SwapCallback(int256 amount0, int256 amount1, bytes calldata) external {
        if (amount0 > 0) IERC20(IClPool(msg.sender).token0()).transfer(msg.sender, uint256(amount0));
        if (amount1 > 0) IERC20(IClPool(msg.sender).token1()).transfer(msg.sender, uint256(amount1));
    }
}

interface IPancakePool {
    function swap(address recipient, bool zeroForOne, int256 amount, uint160 limit, bytes calldata data) external returns (int256, int256);
}
