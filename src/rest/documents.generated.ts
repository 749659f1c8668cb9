// Written by npm run codegen from operations/ and schema.graphql.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Kind of the asset. */
export const AssetCategory = {
  /** A large, long-established asset. */
  Major: 'MAJOR',
  /** A meme token. */
  Meme: 'MEME',
  /** A token that follows a currency. */
  Stable: 'STABLE',
  /** A token that follows a stock. */
  StockToken: 'STOCK_TOKEN'
} as const;

export type AssetCategory = typeof AssetCategory[keyof typeof AssetCategory];
/** Type of an event of a vault. */
export const EventType = {
  /** Capital came in. */
  Deposit: 'DEPOSIT',
  /** The vault began to leave a position. */
  Exit: 'EXIT',
  /** A fee was taken. */
  Fee: 'FEE',
  /** Rewards of a position were collected. */
  Harvest: 'HARVEST',
  /** Liquidity was put into a position. */
  Plant: 'PLANT',
  /** A position was moved to another range. */
  Rebalance: 'REBALANCE',
  /** The suspension was lifted. */
  Resume: 'RESUME',
  /** The vault was suspended. */
  Suspend: 'SUSPEND',
  /** Capital went out. */
  Withdraw: 'WITHDRAW'
} as const;

export type EventType = typeof EventType[keyof typeof EventType];
/** The state of a vault, the first that applies: suspended; exiting, planting (an event started it and it has not ended); idle (no value, no position); planting (value, no position yet); attention (a position out of range); earning. */
export const VaultStatus = {
  /** At least one of its positions is out of range. */
  Attention: 'ATTENTION',
  /** All of its positions are in range. */
  Earning: 'EARNING',
  /** It leaves its positions, until it is empty. */
  Exiting: 'EXITING',
  /** It has no value and no open position. */
  Idle: 'IDLE',
  /** It puts capital into positions: an event started it and it has not ended, or it has value and no position yet. */
  Planting: 'PLANTING',
  /** It is suspended; exits remain possible. */
  Suspended: 'SUSPENDED'
} as const;

export type VaultStatus = typeof VaultStatus[keyof typeof VaultStatus];
export type EquityQueryVariables = Exact<{
  address: string;
  since?: number | null | undefined;
  until?: number | null | undefined;
  points?: number;
}>;


export type EquityQuery = { readonly vault: { readonly equity: ReadonlyArray<{ readonly ts: number, readonly valueUsd: number, readonly capitalInUsd: number, readonly capitalOutUsd: number }> } | null };

export type EventsQueryVariables = Exact<{
  address: string;
  type?: ReadonlyArray<EventType> | EventType | null | undefined;
  since?: number | null | undefined;
  until?: number | null | undefined;
  first?: number;
  after?: string | null | undefined;
}>;


export type EventsQuery = { readonly vault: { readonly events: { readonly nodes: ReadonlyArray<{ readonly txHash: string, readonly logIndex: number, readonly block: number, readonly ts: number, readonly type: EventType, readonly amountUsd: number | null, readonly positionId: string | null, readonly reason: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type LiveEventsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type LiveEventsSubscription = { readonly ledger: { readonly event: { readonly txHash: string, readonly logIndex: number, readonly block: number, readonly ts: number, readonly type: EventType, readonly amountUsd: number | null, readonly positionId: string | null, readonly reason: string | null } } };

export type SnapshotQueryVariables = Exact<{
  address: string;
}>;


export type SnapshotQuery = { readonly vault: { readonly owner: string, readonly status: VaultStatus, readonly valueUsd: number, readonly capitalInUsd: number, readonly capitalOutUsd: number, readonly netUsd: number, readonly strategyDeltaUsd: number, readonly marketDeltaUsd: number, readonly updatedAt: number, readonly vault: string, readonly strategy: string, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pendingRewardsUsd: number, readonly id: string, readonly pool: { readonly a: string, readonly b: string, readonly venue: string, readonly feeTier: number }, readonly range: { readonly lower: number, readonly upper: number, readonly current: number } }>, readonly fees: { readonly contributedUsd: number, readonly withdrawnUsd: number, readonly taxedUsd: number, readonly highWaterUsd: number }, readonly suspension: { readonly reason: string, readonly since: number, readonly exitsAvailable: boolean } | null } | null };

export type SnapshotAtQueryVariables = Exact<{
  address: string;
  at: number;
}>;


export type SnapshotAtQuery = { readonly moment: { readonly isFinal: boolean } | null, readonly vault: { readonly owner: string, readonly status: VaultStatus, readonly valueUsd: number, readonly capitalInUsd: number, readonly capitalOutUsd: number, readonly netUsd: number, readonly strategyDeltaUsd: number, readonly marketDeltaUsd: number, readonly updatedAt: number, readonly vault: string, readonly strategy: string, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pendingRewardsUsd: number, readonly id: string, readonly pool: { readonly a: string, readonly b: string, readonly venue: string, readonly feeTier: number }, readonly range: { readonly lower: number, readonly upper: number, readonly current: number } }>, readonly fees: { readonly contributedUsd: number, readonly withdrawnUsd: number, readonly taxedUsd: number, readonly highWaterUsd: number }, readonly suspension: { readonly reason: string, readonly since: number, readonly exitsAvailable: boolean } | null } | null };

export type SnapshotFieldsFragment = { readonly owner: string, readonly status: VaultStatus, readonly valueUsd: number, readonly capitalInUsd: number, readonly capitalOutUsd: number, readonly netUsd: number, readonly strategyDeltaUsd: number, readonly marketDeltaUsd: number, readonly updatedAt: number, readonly vault: string, readonly strategy: string, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pendingRewardsUsd: number, readonly id: string, readonly pool: { readonly a: string, readonly b: string, readonly venue: string, readonly feeTier: number }, readonly range: { readonly lower: number, readonly upper: number, readonly current: number } }>, readonly fees: { readonly contributedUsd: number, readonly withdrawnUsd: number, readonly taxedUsd: number, readonly highWaterUsd: number }, readonly suspension: { readonly reason: string, readonly since: number, readonly exitsAvailable: boolean } | null };

export type StrategiesQueryVariables = Exact<{ [key: string]: never; }>;


export type StrategiesQuery = { readonly strategies: ReadonlyArray<{ readonly id: string, readonly name: string, readonly tagline: string, readonly description: string, readonly liveApr: number | null, readonly sigma: number | null, readonly pairs: ReadonlyArray<{ readonly a: string, readonly b: string, readonly venues: ReadonlyArray<string> }> }> };

export type UniversePairsQueryVariables = Exact<{ [key: string]: never; }>;


export type UniversePairsQuery = { readonly universe: { readonly pairs: ReadonlyArray<{ readonly a: string, readonly b: string, readonly venues: ReadonlyArray<string>, readonly tvlUsd: number, readonly emissions: boolean }> } };

export type UniverseQueryVariables = Exact<{ [key: string]: never; }>;


export type UniverseQuery = { readonly universe: { readonly assets: ReadonlyArray<{ readonly symbol: string, readonly name: string, readonly category: AssetCategory, readonly venues: ReadonlyArray<string>, readonly liquidityUsd: number }> } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const SnapshotFieldsFragmentDoc = new TypedDocumentString(`
    fragment SnapshotFields on Vault {
  vault: address
  owner
  status
  strategy: strategyId
  valueUsd
  capitalInUsd
  capitalOutUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  positions {
    id: positionId
    pool {
      a
      b
      venue
      feeTier
    }
    range {
      lower
      upper
      current
    }
    inRange
    pendingRewardsUsd
  }
  fees {
    contributedUsd
    withdrawnUsd
    taxedUsd
    highWaterUsd
  }
  suspension {
    reason
    since
    exitsAvailable
  }
  updatedAt
}
    `, {"fragmentName":"SnapshotFields"}) as unknown as TypedDocumentString<SnapshotFieldsFragment, unknown>;
export const EquityDocument = new TypedDocumentString(`
    query Equity($address: Address!, $since: UnixTime, $until: UnixTime, $points: Int! = 500) {
  vault(address: $address) {
    equity(since: $since, until: $until, points: $points) {
      ts
      valueUsd
      capitalInUsd
      capitalOutUsd
    }
  }
}
    `) as unknown as TypedDocumentString<EquityQuery, EquityQueryVariables>;
export const EventsDocument = new TypedDocumentString(`
    query Events($address: Address!, $type: [EventType!], $since: UnixTime, $until: UnixTime, $first: Int! = 100, $after: String) {
  vault(address: $address) {
    events(type: $type, since: $since, until: $until, first: $first, after: $after) {
      nodes {
        txHash
        logIndex
        block
        ts
        type
        amountUsd
        positionId
        reason
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<EventsQuery, EventsQueryVariables>;
export const LiveEventsDocument = new TypedDocumentString(`
    subscription LiveEvents {
  ledger {
    event {
      txHash
      logIndex
      block
      ts
      type
      amountUsd
      positionId
      reason
    }
  }
}
    `) as unknown as TypedDocumentString<LiveEventsSubscription, LiveEventsSubscriptionVariables>;
export const SnapshotDocument = new TypedDocumentString(`
    query Snapshot($address: Address!) {
  vault(address: $address) {
    ...SnapshotFields
  }
}
    fragment SnapshotFields on Vault {
  vault: address
  owner
  status
  strategy: strategyId
  valueUsd
  capitalInUsd
  capitalOutUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  positions {
    id: positionId
    pool {
      a
      b
      venue
      feeTier
    }
    range {
      lower
      upper
      current
    }
    inRange
    pendingRewardsUsd
  }
  fees {
    contributedUsd
    withdrawnUsd
    taxedUsd
    highWaterUsd
  }
  suspension {
    reason
    since
    exitsAvailable
  }
  updatedAt
}`) as unknown as TypedDocumentString<SnapshotQuery, SnapshotQueryVariables>;
export const SnapshotAtDocument = new TypedDocumentString(`
    query SnapshotAt($address: Address!, $at: UnixTime!) {
  moment: vault(address: $address, at: $at) {
    isFinal
  }
  vault(address: $address, at: $at) {
    ...SnapshotFields
  }
}
    fragment SnapshotFields on Vault {
  vault: address
  owner
  status
  strategy: strategyId
  valueUsd
  capitalInUsd
  capitalOutUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  positions {
    id: positionId
    pool {
      a
      b
      venue
      feeTier
    }
    range {
      lower
      upper
      current
    }
    inRange
    pendingRewardsUsd
  }
  fees {
    contributedUsd
    withdrawnUsd
    taxedUsd
    highWaterUsd
  }
  suspension {
    reason
    since
    exitsAvailable
  }
  updatedAt
}`) as unknown as TypedDocumentString<SnapshotAtQuery, SnapshotAtQueryVariables>;
export const StrategiesDocument = new TypedDocumentString(`
    query Strategies {
  strategies {
    id
    name
    tagline
    description
    pairs {
      a
      b
      venues
    }
    liveApr
    sigma
  }
}
    `) as unknown as TypedDocumentString<StrategiesQuery, StrategiesQueryVariables>;
export const UniversePairsDocument = new TypedDocumentString(`
    query UniversePairs {
  universe {
    pairs {
      a
      b
      venues
      tvlUsd
      emissions
    }
  }
}
    `) as unknown as TypedDocumentString<UniversePairsQuery, UniversePairsQueryVariables>;
export const UniverseDocument = new TypedDocumentString(`
    query Universe {
  universe {
    assets {
      symbol
      name
      category
      venues
      liquidityUsd
    }
  }
}
    `) as unknown as TypedDocumentString<UniverseQuery, UniverseQueryVariables>;