// Written by npm run codegen from src/rest/openapi/document.ts.
export interface paths {
    "/vault/{address}/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A vault's snapshot
         * @description Its value, flows, gain and the gain's causes, positions, fees and suspension: now, or as they were at the end of a second. An answer about a time before the newest fact of the vault never changes, and may be kept for a day.
         */
        get: operations["getSnapshot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vault/{address}/equity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A vault's equity over time
         * @description Oldest first. A longer series is thinned to the recorded points that keep the shape of the net-of-flows curve. A deposit is no gain: compare valueUsd + capitalOutUsd - capitalInUsd.
         */
        get: operations["getEquity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vault/{address}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A vault's activity ledger
         * @description Newest first: by block, then log index, descending. Where there is more, Link leads to the next page; following it gives each row exactly once, even while new ones arrive.
         */
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/strategies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The catalogue of strategies
         * @description With their live pairs and realised figures, in the order of their first publication.
         */
        get: operations["getStrategies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/universe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The eligible assets
         * @description The assets that are eligible for build-your-own strategies now, in the screen's order.
         */
        get: operations["getUniverse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/universe/pairs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The eligible pools
         * @description The pools that are eligible for build-your-own strategies now, in the screen's order.
         */
        get: operations["getUniversePairs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/live/vaults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Snapshots of vaults, pushed
         * @description Server-sent events: the snapshot of each vault at once, and again on each change, at most four times a second. The data is the body of its snapshot path, byte for byte; the id is the data version. `stale` says that what was sent may be out of date, `reset` that the version of Last-Event-ID is not part of the current history.
         */
        get: operations["followVaults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/live/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ledger rows of vaults, pushed
         * @description Server-sent events: each new ledger row, in the order of commits, none skipped and none repeated. The data is a row as in the events path, with its vault; the id is its position, to continue after it by Last-Event-ID or `after`. `stale` says that the database is away, `fresh` that it is back, `reset` that the position is not part of the current history or is no longer kept: read the events path again; the stream continues from the id of the reset.
         */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Value, capital flows, gain, status and positions of a vault. */
        Snapshot: {
            /**
             * @description Address of the vault, checksummed.
             * @example 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A
             */
            vault: string;
            /**
             * @description Address of the vault's owner, checksummed.
             * @example 0xa8E3c1077D9809E2499718202DBee2f1D7354bE6
             */
            owner: string;
            /**
             * @description The first that applies: suspended; exiting, planting (an event started it and it has not ended); idle (no value, no position); planting (value, no position yet); attention (a position out of range); earning.
             * @example suspended
             * @enum {string}
             */
            status: "attention" | "earning" | "exiting" | "idle" | "planting" | "suspended";
            /**
             * @description Identifier of the strategy it runs.
             * @example eth-core
             */
            strategy: string;
            /**
             * @description Its value, in USD.
             * @example 373906.197142
             */
            valueUsd: number;
            /**
             * @description Capital deposited so far, in USD.
             * @example 342151.34688
             */
            capitalInUsd: number;
            /**
             * @description Capital withdrawn so far, in USD.
             * @example 0
             */
            capitalOutUsd: number;
            /**
             * @description Gain net of flows, in USD: valueUsd + capitalOutUsd - capitalInUsd, exactly.
             * @example 31754.850262
             */
            netUsd: number;
            /**
             * @description The strategy's part of netUsd, in USD: the two parts sum to it exactly.
             * @example 17497.037862
             */
            strategyDeltaUsd: number;
            /**
             * @description The market's part of netUsd, in USD: what the vault's own deposits would have gained, simply held.
             * @example 14257.8124
             */
            marketDeltaUsd: number;
            /** @description Its open positions, in the newest mark's order. */
            positions: {
                /**
                 * @description Identifier of the position.
                 * @example first-1
                 */
                id: string;
                /** @description Where it provides liquidity. */
                pool: {
                    /**
                     * @description Symbol of the base asset.
                     * @example WETH
                     */
                    a: string;
                    /**
                     * @description Symbol of the quote asset.
                     * @example USDC
                     */
                    b: string;
                    /**
                     * @description Where the pool is.
                     * @example uniswap-v3
                     */
                    venue: string;
                    /**
                     * @description The pool's fee in hundredths of a basis point: 500 is 0.05 %.
                     * @example 500
                     */
                    feeTier: number;
                };
                /** @description Its bounds and the market, as prices: units of b for one a. */
                range: {
                    /**
                     * @description Lower bound.
                     * @example 1727.837754
                     */
                    lower: number;
                    /**
                     * @description Upper bound.
                     * @example 2879.72959
                     */
                    upper: number;
                    /**
                     * @description The pool's price at the newest mark.
                     * @example 2660.228982
                     */
                    current: number;
                };
                /**
                 * @description Whether lower <= current < upper.
                 * @example true
                 */
                inRange: boolean;
                /**
                 * @description Rewards not collected yet, in USD.
                 * @example 4729.963824
                 */
                pendingRewardsUsd: number;
            }[];
            /** @description Its fee summary: that of its newest mark with one, else derived. */
            fees: {
                /**
                 * @description Capital contributed, in USD.
                 * @example 342151.34688
                 */
                contributedUsd: number;
                /**
                 * @description Capital withdrawn, in USD.
                 * @example 0
                 */
                withdrawnUsd: number;
                /**
                 * @description Fees taken, in USD.
                 * @example 0
                 */
                taxedUsd: number;
                /**
                 * @description High-water mark of the gain, in USD: only what exceeds it is charged a fee.
                 * @example 37811.479727
                 */
                highWaterUsd: number;
            };
            /** @description The suspension of the vault; null if it is not suspended. */
            suspension: {
                /**
                 * @description Why the vault was suspended.
                 * @example oracle deviation above 2 %
                 */
                reason: string;
                /**
                 * @description Since when, in Unix seconds.
                 * @example 1767207600
                 */
                since: number;
                /**
                 * @description Always true: exits remain possible while suspended.
                 * @constant
                 */
                exitsAvailable: true;
            } | null;
            /**
             * @description Time of its newest fact, in Unix seconds.
             * @example 1767207600
             */
            updatedAt: number;
        };
        /** @description A vault's equity as a flow or a valuation left it: recorded, never averaged. */
        EquityPoint: {
            /**
             * @description When, in Unix seconds.
             * @example 1765760400
             */
            ts: number;
            /**
             * @description Value of the vault then, in USD.
             * @example 379962.826607
             */
            valueUsd: number;
            /**
             * @description Capital deposited until then, in USD.
             * @example 342151.34688
             */
            capitalInUsd: number;
            /**
             * @description Capital withdrawn until then, in USD.
             * @example 0
             */
            capitalOutUsd: number;
        };
        /** @description A row of a vault's activity ledger. */
        LedgerRow: {
            /**
             * @description Hash of the transaction.
             * @example 0x7b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a36
             */
            txHash: string;
            /**
             * @description Index of the log in its block.
             * @example 3
             */
            logIndex: number;
            /**
             * @description Number of the block.
             * @example 146952350
             */
            block: number;
            /**
             * @description When, in Unix seconds.
             * @example 1763428200
             */
            ts: number;
            /**
             * @description Type of the event.
             * @example harvest
             * @enum {string}
             */
            type: "deposit" | "exit" | "fee" | "harvest" | "plant" | "rebalance" | "resume" | "suspend" | "withdraw";
            /**
             * @description The amount moved, in USD; null where none is, or it is not known.
             * @example 1290.5
             */
            amountUsd: number | null;
            /**
             * @description The position it is about; null where it is about none.
             * @example first-1
             */
            positionId: string | null;
            /**
             * @description Why the vault was suspended; null on other events.
             * @example null
             */
            reason: string | null;
        };
        /** @description A strategy of the catalogue. */
        Strategy: {
            /**
             * @description Identifier of the strategy.
             * @example eth-core
             */
            id: string;
            /**
             * @description Display name.
             * @example Ether Core
             */
            name: string;
            /**
             * @description Description in a line.
             * @example A wide range around the market, moved seldom.
             */
            tagline: string;
            /**
             * @description Description of the strategy.
             * @example Provides WETH/USDC liquidity in a broad band.
             */
            description: string;
            /** @description Its live pairs, in the screen's order: they change when the screen re-ranks. */
            pairs: {
                /**
                 * @description Symbol of the base asset.
                 * @example WETH
                 */
                a: string;
                /**
                 * @description Symbol of the quote asset.
                 * @example USDC
                 */
                b: string;
                /**
                 * @description Where it is traded.
                 * @example [
                 *       "uniswap-v3",
                 *       "aerodrome"
                 *     ]
                 */
                venues: string[];
            }[];
            /**
             * @description Realised return over the 30 newest complete days, as an annualised fraction (0.12 is 12 %); null until all 30 have a return, and where it is beyond the range of a double.
             * @example 0.4582618970969625
             */
            liveApr: number | null;
            /**
             * @description Realised volatility over the same days, as an annualised fraction; null with liveApr, and where a day lost everything.
             * @example 0.2616282061612304
             */
            sigma: number | null;
        };
        /** @description An asset that is eligible for build-your-own strategies now. */
        UniverseAsset: {
            /**
             * @description Symbol of the asset.
             * @example WETH
             */
            symbol: string;
            /**
             * @description Display name.
             * @example Wrapped Ether
             */
            name: string;
            /**
             * @description Kind of the asset.
             * @example major
             * @enum {string}
             */
            category: "major" | "meme" | "stable" | "stock token";
            /**
             * @description Where it is traded.
             * @example [
             *       "uniswap-v3",
             *       "aerodrome"
             *     ]
             */
            venues: string[];
            /**
             * @description Its liquidity depth, in USD.
             * @example 184220113.51
             */
            liquidityUsd: number;
        };
        /** @description A pool that is eligible for build-your-own strategies now. */
        UniversePair: {
            /**
             * @description Symbol of the base asset.
             * @example WETH
             */
            a: string;
            /**
             * @description Symbol of the quote asset.
             * @example USDC
             */
            b: string;
            /**
             * @description Where it is traded.
             * @example [
             *       "uniswap-v3",
             *       "aerodrome"
             *     ]
             */
            venues: string[];
            /**
             * @description Total value locked, in USD.
             * @example 143220110.2
             */
            tvlUsd: number;
            /**
             * @description Whether it pays emissions beside fees.
             * @example true
             */
            emissions: boolean;
        };
        /** @description A row of a vault's activity ledger, with its vault. */
        VaultEvent: {
            /**
             * @description Address of the vault, checksummed.
             * @example 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A
             */
            vault: string;
            /**
             * @description Hash of the transaction.
             * @example 0x7b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a36
             */
            txHash: string;
            /**
             * @description Index of the log in its block.
             * @example 3
             */
            logIndex: number;
            /**
             * @description Number of the block.
             * @example 146952350
             */
            block: number;
            /**
             * @description When, in Unix seconds.
             * @example 1763428200
             */
            ts: number;
            /**
             * @description Type of the event.
             * @example harvest
             * @enum {string}
             */
            type: "deposit" | "exit" | "fee" | "harvest" | "plant" | "rebalance" | "resume" | "suspend" | "withdraw";
            /**
             * @description The amount moved, in USD; null where none is, or it is not known.
             * @example 1290.5
             */
            amountUsd: number | null;
            /**
             * @description The position it is about; null where it is about none.
             * @example first-1
             */
            positionId: string | null;
            /**
             * @description Why the vault was suspended; null on other events.
             * @example null
             */
            reason: string | null;
        };
        /** @description A refusal, as RFC 9457 writes it. */
        Problem: {
            /**
             * @description The kind of problem.
             * @example urn:vault-gateway:problem:internal
             */
            type: string;
            /**
             * @description The kind of problem, in words.
             * @example Something went wrong here
             */
            title: string;
            /**
             * @description The HTTP status.
             * @example 500
             */
            status: number;
            /**
             * @description The fault of this request.
             * @example Something went wrong here.
             */
            detail: string;
            /**
             * @description The parameter at fault, where there is one.
             * @example points
             */
            parameter?: string;
            /**
             * @description From when on the state of the vault is kept, in Unix seconds.
             * @example 1763427600
             */
            historySince?: number;
        };
    };
    responses: {
        /** @description The bytes received are not HTTP/1.1, or the header Host is missing, repeated or names no host. The address or a parameter is invalid. Min-Data-Version is not the value of a Data-Version header. */
        BadRequestOrBadParameterOrBadDataVersion: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag?: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id"?: string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control"?: "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description API keys are configured, and the request has none that is accepted. */
        Unauthenticated: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description How to authenticate.
                 * @example Bearer
                 */
                "WWW-Authenticate": string;
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No vault is known at the address. */
        VaultNotFound: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The path was requested with another method than GET, HEAD or OPTIONS. */
        MethodNotAllowed: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description The methods that are allowed.
                 * @example GET, HEAD, OPTIONS
                 */
                Allow: string;
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request did not come whole in time. */
        RequestTimeout: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag?: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id"?: string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control"?: "no-cache";
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Min-Data-Version is not part of the current history: it was lost in a failover, or is older than the kept history. */
        HistoryChanged: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The state of the vault is kept from historySince on, and not that of this moment. */
        HistoryNotKept: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Path and query have more bytes than are read. */
        TargetTooLong: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A rate limit is configured, and the sender has used it up. */
        RateLimited: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description In how many seconds to request again.
                 * @example 12
                 */
                "Retry-After": string;
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There are more headers, or more bytes of them, than are read. */
        HeadersTooLarge: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag?: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id"?: string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control"?: "no-cache";
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description An internal error, logged with its request id; no details are disclosed. */
        Internal: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The database does not answer now. The answer took too long, and was given up. The data did not reach Min-Data-Version in time. Too many requests are waiting. */
        DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description In how many seconds to request again.
                 * @example 2
                 */
                "Retry-After": string;
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The bytes received are not HTTP/1.1, or the header Host is missing, repeated or names no host. Min-Data-Version is not the value of a Data-Version header. */
        BadRequestOrBadDataVersion: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag?: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id"?: string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control"?: "no-cache";
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many streams of this key or address are open. A rate limit is configured, and the sender has used it up. */
        TooManyStreamsOrRateLimited: {
            headers: {
                /**
                 * @description The strong tag of the content.
                 * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                 */
                ETag: string;
                /**
                 * @description Id of the request in the logs: its own where that is a valid one.
                 * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                 */
                "X-Request-Id": string;
                /**
                 * @description Never used without revalidation: request again with If-None-Match.
                 * @example no-cache
                 */
                "Cache-Control": "no-cache";
                /**
                 * @description In how many seconds to request again.
                 * @example 12
                 */
                "Retry-After": string;
                /**
                 * @description How many requests are left, and in how many seconds there are more again.
                 * @example "default";r=99;t=60
                 */
                RateLimit?: string;
                /**
                 * @description How many requests a sender has in how many seconds.
                 * @example "default";q=100;w=60
                 */
                "RateLimit-Policy"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getSnapshot: {
        parameters: {
            query?: {
                /** @description The moment, in Unix seconds; without it, now. */
                at?: number;
            };
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path: {
                /**
                 * @description Address of the vault: EVM, all lower or upper case, or mixed case with a valid EIP-55 checksum.
                 * @example 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A
                 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A vault's snapshot. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used without revalidation; but what can never change may be kept for a day, where API keys are configured by the client alone.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "vault": "0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A",
                     *       "owner": "0xa8E3c1077D9809E2499718202DBee2f1D7354bE6",
                     *       "status": "suspended",
                     *       "strategy": "eth-core",
                     *       "valueUsd": 373906.197142,
                     *       "capitalInUsd": 342151.34688,
                     *       "capitalOutUsd": 0,
                     *       "netUsd": 31754.850262,
                     *       "strategyDeltaUsd": 17497.037862,
                     *       "marketDeltaUsd": 14257.8124,
                     *       "positions": [
                     *         {
                     *           "id": "first-1",
                     *           "pool": {
                     *             "a": "WETH",
                     *             "b": "USDC",
                     *             "venue": "uniswap-v3",
                     *             "feeTier": 500
                     *           },
                     *           "range": {
                     *             "lower": 1727.837754,
                     *             "upper": 2879.72959,
                     *             "current": 2660.228982
                     *           },
                     *           "inRange": true,
                     *           "pendingRewardsUsd": 4729.963824
                     *         }
                     *       ],
                     *       "fees": {
                     *         "contributedUsd": 342151.34688,
                     *         "withdrawnUsd": 0,
                     *         "taxedUsd": 0,
                     *         "highWaterUsd": 37811.479727
                     *       },
                     *       "suspension": {
                     *         "reason": "oracle deviation above 2 %",
                     *         "since": 1767207600,
                     *         "exitsAvailable": true
                     *       },
                     *       "updatedAt": 1767207600
                     *     }
                     */
                    "application/json": components["schemas"]["Snapshot"];
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used without revalidation; but what can never change may be kept for a day, where API keys are configured by the client alone.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadParameterOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            404: components["responses"]["VaultNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            410: components["responses"]["HistoryNotKept"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    getEquity: {
        parameters: {
            query?: {
                /** @description Start of the period, inclusive, in Unix seconds. */
                since?: number;
                /** @description End of the period, exclusive, in Unix seconds; not before since. */
                until?: number;
                /** @description How many points at most. */
                points?: number;
            };
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path: {
                /**
                 * @description Address of the vault: EVM, all lower or upper case, or mixed case with a valid EIP-55 checksum.
                 * @example 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A
                 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A vault's equity over time. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "ts": 1765760400,
                     *         "valueUsd": 379962.826607,
                     *         "capitalInUsd": 342151.34688,
                     *         "capitalOutUsd": 0
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["EquityPoint"][];
                    /**
                     * @example ts,valueUsd,capitalInUsd,capitalOutUsd
                     *     1765760400,379962.826607,342151.34688,0
                     */
                    "text/csv": string;
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadParameterOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            404: components["responses"]["VaultNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    getEvents: {
        parameters: {
            query?: {
                /** @description Only rows of this type, or of several with commas. */
                type?: ("deposit" | "exit" | "fee" | "harvest" | "plant" | "rebalance" | "resume" | "suspend" | "withdraw")[];
                /** @description Start of the period, inclusive, in Unix seconds. */
                since?: number;
                /** @description End of the period, exclusive, in Unix seconds; not before since. */
                until?: number;
                /** @description How many rows at most. */
                limit?: number;
                /** @description Cursor from the Link header of the previous page. */
                cursor?: string;
            };
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path: {
                /**
                 * @description Address of the vault: EVM, all lower or upper case, or mixed case with a valid EIP-55 checksum.
                 * @example 0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A
                 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A vault's activity ledger. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description Where the next page is; absent on the last.
                     * @example </vault/0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A/events?cursor=WzE0Njk1MjM1MF0>; rel="next"
                     */
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "txHash": "0x7b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a36",
                     *         "logIndex": 3,
                     *         "block": 146952350,
                     *         "ts": 1763428200,
                     *         "type": "harvest",
                     *         "amountUsd": 1290.5,
                     *         "positionId": "first-1",
                     *         "reason": null
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["LedgerRow"][];
                    /**
                     * @example txHash,logIndex,block,ts,type,amountUsd,positionId,reason
                     *     0x7b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a36,3,146952350,1763428200,harvest,1290.5,first-1,
                     */
                    "text/csv": string;
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description Where the next page is; absent on the last.
                     * @example </vault/0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A/events?cursor=WzE0Njk1MjM1MF0>; rel="next"
                     */
                    Link?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadParameterOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            404: components["responses"]["VaultNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    getStrategies: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The catalogue of strategies. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": "eth-core",
                     *         "name": "Ether Core",
                     *         "tagline": "A wide range around the market, moved seldom.",
                     *         "description": "Provides WETH/USDC liquidity in a broad band.",
                     *         "pairs": [
                     *           {
                     *             "a": "WETH",
                     *             "b": "USDC",
                     *             "venues": [
                     *               "uniswap-v3",
                     *               "aerodrome"
                     *             ]
                     *           }
                     *         ],
                     *         "liveApr": 0.4582618970969625,
                     *         "sigma": 0.2616282061612304
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Strategy"][];
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    getUniverse: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The eligible assets. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "symbol": "WETH",
                     *         "name": "Wrapped Ether",
                     *         "category": "major",
                     *         "venues": [
                     *           "uniswap-v3",
                     *           "aerodrome"
                     *         ],
                     *         "liquidityUsd": 184220113.51
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["UniverseAsset"][];
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    getUniversePairs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of a response that the client has: 304 if it is still current. */
                "If-None-Match"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The eligible pools. */
            200: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "a": "WETH",
                     *         "b": "USDC",
                     *         "venues": [
                     *           "uniswap-v3",
                     *           "aerodrome"
                     *         ],
                     *         "tvlUsd": 143220110.2,
                     *         "emissions": true
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["UniversePair"][];
                };
            };
            /** @description Not modified: the response with the given ETag is still current. */
            304: {
                headers: {
                    /**
                     * @description The strong tag of the content.
                     * @example "GvMTLpTmVBWWV25tJ9tWZgCzJKe"
                     */
                    ETag: string;
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.
                     * @example no-cache
                     */
                    "Cache-Control": string;
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequestOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    followVaults: {
        parameters: {
            query: {
                /** @description Addresses of 1 to 100 vaults, with commas. */
                vault: string[];
            };
            header?: {
                /** @description The id of the last event that was received, as an EventSource sends it when it connects again. */
                "Last-Event-ID"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Snapshots of vaults, pushed. */
            200: {
                headers: {
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description A stream is not stored.
                     * @example no-store
                     */
                    "Cache-Control": "no-store";
                    /**
                     * @description A proxy that collects answers passes a stream on.
                     * @example no
                     */
                    "X-Accel-Buffering": "no";
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example event: snapshot
                     *     id: 1842.7301934470216482113
                     *     data: {"vault":"0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A","owner":"0xa8E3c1077D9809E2499718202DBee2f1D7354bE6","status":"suspended","strategy":"eth-core","valueUsd":373906.197142,"capitalInUsd":342151.34688,"capitalOutUsd":0,"netUsd":31754.850262,"strategyDeltaUsd":17497.037862,"marketDeltaUsd":14257.8124,"positions":[{"id":"first-1","pool":{"a":"WETH","b":"USDC","venue":"uniswap-v3","feeTier":500},"range":{"lower":1727.837754,"upper":2879.72959,"current":2660.228982},"inRange":true,"pendingRewardsUsd":4729.963824}],"fees":{"contributedUsd":342151.34688,"withdrawnUsd":0,"taxedUsd":0,"highWaterUsd":37811.479727},"suspension":{"reason":"oracle deviation above 2 %","since":1767207600,"exitsAvailable":true},"updatedAt":1767207600}
                     */
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequestOrBadParameterOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            404: components["responses"]["VaultNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["TooManyStreamsOrRateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Only rows of these vaults: 1 to 100 addresses, with commas. */
                vault?: string[];
                /** @description Only rows of this type, or of several with commas. */
                type?: ("deposit" | "exit" | "fee" | "harvest" | "plant" | "rebalance" | "resume" | "suspend" | "withdraw")[];
                /** @description Only rows after this position: the id of an event, or a Data-Version. Without it, only rows from now on. Last-Event-ID takes precedence. */
                after?: string;
            };
            header?: {
                /** @description The id of the last event that was received, as an EventSource sends it when it connects again. */
                "Last-Event-ID"?: string;
                /** @description A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then answers 503; 409 if it is not part of the current history. */
                "Min-Data-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ledger rows of vaults, pushed. */
            200: {
                headers: {
                    /**
                     * @description Id of the request in the logs: its own where that is a valid one.
                     * @example 3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57
                     */
                    "X-Request-Id": string;
                    /**
                     * @description A stream is not stored.
                     * @example no-store
                     */
                    "Cache-Control": "no-store";
                    /**
                     * @description A proxy that collects answers passes a stream on.
                     * @example no
                     */
                    "X-Accel-Buffering": "no";
                    /**
                     * @description A version that the content is not older than: the number of a commit, and a random nonce.
                     * @example 1842.7301934470216482113
                     */
                    "Data-Version"?: string;
                    /**
                     * @description Time of the newest fact at that version, in Unix seconds.
                     * @example 1767207600
                     */
                    "Data-Time"?: string;
                    /**
                     * @description Whole seconds since the gateway last knew that it had received every commit.
                     * @example 0
                     */
                    "Data-Age"?: string;
                    /**
                     * @description How many requests are left, and in how many seconds there are more again.
                     * @example "default";r=99;t=60
                     */
                    RateLimit?: string;
                    /**
                     * @description How many requests a sender has in how many seconds.
                     * @example "default";q=100;w=60
                     */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example event: event
                     *     id: 1842.7301934470216482113.1
                     *     data: {"vault":"0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A","txHash":"0x7b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a367b41c9f0e2d85a36","logIndex":3,"block":146952350,"ts":1763428200,"type":"harvest","amountUsd":1290.5,"positionId":"first-1","reason":null}
                     */
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequestOrBadParameterOrBadDataVersion"];
            401: components["responses"]["Unauthenticated"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["HistoryChanged"];
            414: components["responses"]["TargetTooLong"];
            429: components["responses"]["TooManyStreamsOrRateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["DatabaseUnavailableOrDeadlineExceededOrDataNotThereYetOrOverloaded"];
        };
    };
}
