// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Answers as Chainlink's AggregatorV3Interface, what it was told.
contract Feed {
    uint8 public immutable decimals;
    int256 private _answer;
    uint256 private _updatedAt;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function set(int256 answer) external {
        _answer = answer;
        _updatedAt = block.timestamp;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, _answer, _updatedAt, _updatedAt, 1);
    }
}
