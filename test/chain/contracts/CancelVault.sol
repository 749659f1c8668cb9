// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {AsyncVault} from "./AsyncVault.sol";

/// A vault of ERC-7540 and ERC-7887: requests to deposit can be cancelled. It keeps their assets itself. A request counts
/// as pending until its cancelation is fulfilled, or no more from the cancelation on.
contract CancelVault is AsyncVault {
    using SafeERC20 for IERC20;

    bool private immutable _keepsPending;
    mapping(address => uint256) private _cancelling;
    mapping(address => uint256) private _cancelled;

    event CancelDepositRequest(address indexed controller, uint256 indexed requestId, address sender);
    event CancelDepositClaim(address indexed controller, address indexed receiver, uint256 indexed requestId, address sender, uint256 assets);

    constructor(IERC20 asset_, address owner_, bool keepsPending) AsyncVault(asset_, owner_, false) {
        _keepsPending = keepsPending;
    }

    function supportsInterface(bytes4 id) public pure override returns (bool) {
        return id == 0x8bf840e3 || super.supportsInterface(id);
    }

    function pendingCancelDepositRequest(uint256, address controller) external view returns (bool) {
        return _cancelling[controller] > 0;
    }

    function claimableCancelDepositRequest(uint256, address controller) external view returns (uint256) {
        return _cancelled[controller];
    }

    function cancelDepositRequest(uint256, address controller) external {
        _cancelling[controller] = _pending[controller];
        if (!_keepsPending) _pending[controller] = 0;
        emit CancelDepositRequest(controller, 0, msg.sender);
    }

    function fulfilCancel(address controller) external {
        _cancelled[controller] += _cancelling[controller];
        _cancelling[controller] = 0;
        _pending[controller] = 0;
    }

    function claimCancelDepositRequest(uint256, address receiver, address controller) external {
        uint256 assets = _cancelled[controller];
        _cancelled[controller] = 0;
        _open -= assets;
        IERC20(asset()).safeTransfer(receiver, assets);
        emit CancelDepositClaim(controller, receiver, 0, msg.sender, assets);
    }
}
