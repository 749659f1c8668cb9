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
/** Which way an order goes. */
export const Direction = {
  /** The least first. */
  Asc: 'ASC',
  /** The greatest first. */
  Desc: 'DESC'
} as const;

export type Direction = typeof Direction[keyof typeof Direction];
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
/** A pair of assets, as the pools of positions have them. */
export type PairWhere = {
  /** Symbol of the base asset. */
  readonly a: string;
  /** Symbol of the quote asset. */
  readonly b: string;
};

/** Amounts in USD from one bound to the other, both included. */
export type UsdRange = {
  /** The least, in USD; none if it is left out. */
  readonly gte?: string | null | undefined;
  /** The greatest, in USD; none if it is left out. */
  readonly lte?: string | null | undefined;
};

/** The order of vaults; between equals the address decides. */
export type VaultOrder = {
  /** Which way. */
  readonly direction?: Direction;
  /** The field to order by. */
  readonly field: VaultOrderField;
};

/** Fields by which vaults can be ordered. */
export const VaultOrderField = {
  /** Their address, by its hexadecimal digits. */
  Address: 'ADDRESS',
  /** Capital deposited so far, in USD. */
  CapitalInUsd: 'CAPITAL_IN_USD',
  /** Their gain net of flows, in USD. */
  NetUsd: 'NET_USD',
  /** The strategy's part of their gain, in USD. */
  StrategyDeltaUsd: 'STRATEGY_DELTA_USD',
  /** Time of their newest fact. */
  UpdatedAt: 'UPDATED_AT',
  /** Their value now, in USD. */
  ValueUsd: 'VALUE_USD'
} as const;

export type VaultOrderField = typeof VaultOrderField[keyof typeof VaultOrderField];
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
/** Which vaults: those that match every key given, by any of its values. With both pair and venue, one position matches both. */
export type VaultWhere = {
  /** Vaults of one of these owners. */
  readonly owner?: ReadonlyArray<string> | null | undefined;
  /** Vaults with an open position of one of these pairs. */
  readonly pair?: ReadonlyArray<PairWhere> | null | undefined;
  /** Vaults in one of these states. */
  readonly status?: ReadonlyArray<VaultStatus> | null | undefined;
  /** Vaults that run one of these strategies, by id. */
  readonly strategy?: ReadonlyArray<string | number> | null | undefined;
  /** Vaults of such a value now, in USD. */
  readonly valueUsd?: UsdRange | null | undefined;
  /** Vaults with an open position at one of these venues. */
  readonly venue?: ReadonlyArray<string> | null | undefined;
};

export type VaultEquityQueryVariables = Exact<{
  address: string;
  since?: number | null | undefined;
  until?: number | null | undefined;
  points: number;
  marks: number;
}>;


export type VaultEquityQuery = { readonly vault: { readonly id: string, readonly equity: ReadonlyArray<{ readonly ts: number, readonly valueUsd: string, readonly capitalInUsd: string, readonly capitalOutUsd: string, readonly netUsd: string, readonly strategyDeltaUsd: string | null, readonly marketDeltaUsd: string | null }>, readonly flows: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly ts: number, readonly type: EventType, readonly amountUsd: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean } } } | null };

export type VaultFeesQueryVariables = Exact<{
  address: string;
}>;


export type VaultFeesQuery = { readonly vault: { readonly id: string, readonly fees: { readonly contributedUsd: string, readonly withdrawnUsd: string, readonly taxedUsd: string, readonly highWaterUsd: string } } | null };

export type VaultSummaryFragment = { readonly id: string, readonly address: string, readonly status: VaultStatus, readonly valueUsd: string, readonly netUsd: string, readonly strategyDeltaUsd: string, readonly marketDeltaUsd: string, readonly updatedAt: number, readonly strategy: { readonly id: string, readonly name: string, readonly liveApr: number | null, readonly sigma: number | null } };

export type NextPageFragment = { readonly hasNextPage: boolean, readonly endCursor: string | null };

export type VaultLedgerQueryVariables = Exact<{
  address: string;
  type?: ReadonlyArray<EventType> | EventType | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type VaultLedgerQuery = { readonly vault: { readonly id: string, readonly chainId: number | null, readonly events: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly ts: number, readonly type: EventType, readonly amountUsd: string | null, readonly positionId: string | null, readonly reason: string | null, readonly block: number, readonly logIndex: number, readonly txHash: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type DataStatusQueryVariables = Exact<{ [key: string]: never; }>;


export type DataStatusQuery = { readonly _meta: { readonly version: string | null, readonly ageSeconds: number | null, readonly newestFactAt: number | null, readonly feeds: ReadonlyArray<{ readonly name: string, readonly isStopped: boolean, readonly isWaiting: boolean }>, readonly setAside: ReadonlyArray<{ readonly address: string, readonly reason: string }> } };

export type DataChangesSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type DataChangesSubscription = { readonly meta: { readonly version: string | null } };

export type VaultChangesSubscriptionVariables = Exact<{
  address: string;
}>;


export type VaultChangesSubscription = { readonly vault: { readonly id: string, readonly status: VaultStatus, readonly owner: string, readonly valueUsd: string, readonly updatedAt: number, readonly strategy: { readonly id: string, readonly name: string, readonly liveApr: number | null, readonly sigma: number | null }, readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string }> } } | null };

export type VaultPositionsQueryVariables = Exact<{
  address: string;
}>;


export type VaultPositionsQuery = { readonly vault: { readonly id: string, readonly positions: ReadonlyArray<{ readonly id: string, readonly positionId: string, readonly inRange: boolean, readonly pendingRewardsUsd: string, readonly pool: { readonly a: string, readonly b: string, readonly venue: string, readonly feeTier: number }, readonly range: { readonly lower: string, readonly upper: string, readonly current: string } }> } | null };

export type SearchQueryVariables = Exact<{
  address: string;
}>;


export type SearchQuery = { readonly vault: { readonly address: string } | null, readonly vaults: { readonly totalCount: number } };

export type VaultAddressesQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type VaultAddressesQuery = { readonly vaults: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly address: string, readonly owner: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type StrategyListQueryVariables = Exact<{
  vaults: number;
}>;


export type StrategyListQuery = { readonly strategies: ReadonlyArray<{ readonly id: string, readonly name: string, readonly tagline: string, readonly description: string, readonly liveApr: number | null, readonly sigma: number | null, readonly pairs: ReadonlyArray<{ readonly a: string, readonly b: string, readonly venues: ReadonlyArray<string> }>, readonly vaults: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly address: string, readonly valueUsd: string }> } }> };

export type StrategyNamesQueryVariables = Exact<{ [key: string]: never; }>;


export type StrategyNamesQuery = { readonly strategies: ReadonlyArray<{ readonly id: string, readonly name: string }> };

export type UniverseAssetsQueryVariables = Exact<{
  category?: AssetCategory | null | undefined;
}>;


export type UniverseAssetsQuery = { readonly universe: { readonly screenedAt: number | null, readonly assets: ReadonlyArray<{ readonly symbol: string, readonly name: string, readonly category: AssetCategory, readonly venues: ReadonlyArray<string>, readonly liquidityUsd: string }> } };

export type UniversePoolsQueryVariables = Exact<{
  asset?: string | null | undefined;
}>;


export type UniversePoolsQuery = { readonly universe: { readonly screenedAt: number | null, readonly pairs: ReadonlyArray<{ readonly a: string, readonly b: string, readonly venues: ReadonlyArray<string>, readonly tvlUsd: string, readonly emissions: boolean }> } };

export type VaultFiguresQueryVariables = Exact<{
  address: string;
}>;


export type VaultFiguresQuery = { readonly vault: { readonly owner: string, readonly chainId: number | null, readonly capitalInUsd: string, readonly capitalOutUsd: string, readonly id: string, readonly address: string, readonly status: VaultStatus, readonly valueUsd: string, readonly netUsd: string, readonly strategyDeltaUsd: string, readonly marketDeltaUsd: string, readonly updatedAt: number, readonly suspension: { readonly reason: string, readonly since: number, readonly exitsAvailable: boolean } | null, readonly strategy: { readonly id: string, readonly name: string, readonly liveApr: number | null, readonly sigma: number | null } } | null };

export type VaultListQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  orderBy: VaultOrder;
  where?: VaultWhere | null | undefined;
}>;


export type VaultListQuery = { readonly vaults: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly address: string, readonly status: VaultStatus, readonly valueUsd: string, readonly netUsd: string, readonly strategyDeltaUsd: string, readonly marketDeltaUsd: string, readonly updatedAt: number, readonly equity: ReadonlyArray<{ readonly netUsd: string }>, readonly strategy: { readonly id: string, readonly name: string, readonly liveApr: number | null, readonly sigma: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type VaultTableQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
  orderBy: VaultOrder;
  where?: VaultWhere | null | undefined;
}>;


export type VaultTableQuery = { readonly vaults: { readonly nodes: ReadonlyArray<{ readonly capitalInUsd: string, readonly id: string, readonly address: string, readonly status: VaultStatus, readonly valueUsd: string, readonly netUsd: string, readonly strategyDeltaUsd: string, readonly marketDeltaUsd: string, readonly updatedAt: number, readonly strategy: { readonly id: string, readonly name: string, readonly liveApr: number | null, readonly sigma: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

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
export const VaultSummaryFragmentDoc = new TypedDocumentString(`
    fragment VaultSummary on Vault {
  id
  address
  status
  valueUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  updatedAt
  strategy {
    id
    name
    liveApr
    sigma
  }
}
    `, {"fragmentName":"VaultSummary"}) as unknown as TypedDocumentString<VaultSummaryFragment, unknown>;
export const NextPageFragmentDoc = new TypedDocumentString(`
    fragment NextPage on PageInfo {
  hasNextPage
  endCursor
}
    `, {"fragmentName":"NextPage"}) as unknown as TypedDocumentString<NextPageFragment, unknown>;
export const VaultEquityDocument = new TypedDocumentString(`
    query VaultEquity($address: Address!, $since: UnixTime, $until: UnixTime, $points: Int!, $marks: Int!) {
  vault(address: $address) {
    id
    equity(since: $since, until: $until, points: $points) {
      ts
      valueUsd
      capitalInUsd
      capitalOutUsd
      netUsd
      strategyDeltaUsd
      marketDeltaUsd
    }
    flows: events(
      type: [DEPOSIT, WITHDRAW]
      since: $since
      until: $until
      first: $marks
    ) {
      nodes {
        id
        ts
        type
        amountUsd
      }
      pageInfo {
        hasNextPage
      }
    }
  }
}
    `) as unknown as TypedDocumentString<VaultEquityQuery, VaultEquityQueryVariables>;
export const VaultFeesDocument = new TypedDocumentString(`
    query VaultFees($address: Address!) {
  vault(address: $address) {
    id
    fees {
      contributedUsd
      withdrawnUsd
      taxedUsd
      highWaterUsd
    }
  }
}
    `) as unknown as TypedDocumentString<VaultFeesQuery, VaultFeesQueryVariables>;
export const VaultLedgerDocument = new TypedDocumentString(`
    query VaultLedger($address: Address!, $type: [EventType!], $first: Int!, $after: String) {
  vault(address: $address) {
    id
    chainId
    events(type: $type, first: $first, after: $after) {
      totalCount
      nodes {
        id
        ts
        type
        amountUsd
        positionId
        reason
        block
        logIndex
        txHash
      }
      pageInfo {
        ...NextPage
      }
    }
  }
}
    fragment NextPage on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<VaultLedgerQuery, VaultLedgerQueryVariables>;
export const DataStatusDocument = new TypedDocumentString(`
    query DataStatus {
  _meta {
    version
    ageSeconds
    newestFactAt
    feeds {
      name
      isStopped
      isWaiting
    }
    setAside {
      address
      reason
    }
  }
}
    `) as unknown as TypedDocumentString<DataStatusQuery, DataStatusQueryVariables>;
export const DataChangesDocument = new TypedDocumentString(`
    subscription DataChanges {
  meta {
    version
  }
}
    `) as unknown as TypedDocumentString<DataChangesSubscription, DataChangesSubscriptionVariables>;
export const VaultChangesDocument = new TypedDocumentString(`
    subscription VaultChanges($address: Address!) {
  vault(address: $address) {
    id
    status
    owner
    valueUsd
    updatedAt
    strategy {
      id
      name
      liveApr
      sigma
    }
    events(first: 1) {
      nodes {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<VaultChangesSubscription, VaultChangesSubscriptionVariables>;
export const VaultPositionsDocument = new TypedDocumentString(`
    query VaultPositions($address: Address!) {
  vault(address: $address) {
    id
    positions {
      id
      positionId
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
  }
}
    `) as unknown as TypedDocumentString<VaultPositionsQuery, VaultPositionsQueryVariables>;
export const SearchDocument = new TypedDocumentString(`
    query Search($address: Address!) {
  vault(address: $address) {
    address
  }
  vaults(first: 1, where: {owner: [$address]}) {
    totalCount
  }
}
    `) as unknown as TypedDocumentString<SearchQuery, SearchQueryVariables>;
export const VaultAddressesDocument = new TypedDocumentString(`
    query VaultAddresses($first: Int!, $after: String) {
  vaults(first: $first, after: $after) {
    totalCount
    nodes {
      address
      owner
    }
    pageInfo {
      ...NextPage
    }
  }
}
    fragment NextPage on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<VaultAddressesQuery, VaultAddressesQueryVariables>;
export const StrategyListDocument = new TypedDocumentString(`
    query StrategyList($vaults: Int!) {
  strategies {
    id
    name
    tagline
    description
    liveApr
    sigma
    pairs {
      a
      b
      venues
    }
    vaults(first: $vaults) {
      totalCount
      nodes {
        id
        address
        valueUsd
      }
    }
  }
}
    `) as unknown as TypedDocumentString<StrategyListQuery, StrategyListQueryVariables>;
export const StrategyNamesDocument = new TypedDocumentString(`
    query StrategyNames {
  strategies {
    id
    name
  }
}
    `) as unknown as TypedDocumentString<StrategyNamesQuery, StrategyNamesQueryVariables>;
export const UniverseAssetsDocument = new TypedDocumentString(`
    query UniverseAssets($category: AssetCategory) {
  universe {
    screenedAt
    assets(category: $category) {
      symbol
      name
      category
      venues
      liquidityUsd
    }
  }
}
    `) as unknown as TypedDocumentString<UniverseAssetsQuery, UniverseAssetsQueryVariables>;
export const UniversePoolsDocument = new TypedDocumentString(`
    query UniversePools($asset: String) {
  universe {
    screenedAt
    pairs(asset: $asset) {
      a
      b
      venues
      tvlUsd
      emissions
    }
  }
}
    `) as unknown as TypedDocumentString<UniversePoolsQuery, UniversePoolsQueryVariables>;
export const VaultFiguresDocument = new TypedDocumentString(`
    query VaultFigures($address: Address!) {
  vault(address: $address) {
    ...VaultSummary
    owner
    chainId
    capitalInUsd
    capitalOutUsd
    suspension {
      reason
      since
      exitsAvailable
    }
  }
}
    fragment VaultSummary on Vault {
  id
  address
  status
  valueUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  updatedAt
  strategy {
    id
    name
    liveApr
    sigma
  }
}`) as unknown as TypedDocumentString<VaultFiguresQuery, VaultFiguresQueryVariables>;
export const VaultListDocument = new TypedDocumentString(`
    query VaultList($first: Int!, $after: String, $orderBy: VaultOrder!, $where: VaultWhere) {
  vaults(first: $first, after: $after, orderBy: $orderBy, where: $where) {
    totalCount
    nodes {
      ...VaultSummary
      equity(points: 24) {
        netUsd
      }
    }
    pageInfo {
      ...NextPage
    }
  }
}
    fragment VaultSummary on Vault {
  id
  address
  status
  valueUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  updatedAt
  strategy {
    id
    name
    liveApr
    sigma
  }
}
fragment NextPage on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<VaultListQuery, VaultListQueryVariables>;
export const VaultTableDocument = new TypedDocumentString(`
    query VaultTable($first: Int!, $after: String, $orderBy: VaultOrder!, $where: VaultWhere) {
  vaults(first: $first, after: $after, orderBy: $orderBy, where: $where) {
    nodes {
      ...VaultSummary
      capitalInUsd
    }
    pageInfo {
      ...NextPage
    }
  }
}
    fragment VaultSummary on Vault {
  id
  address
  status
  valueUsd
  netUsd
  strategyDeltaUsd
  marketDeltaUsd
  updatedAt
  strategy {
    id
    name
    liveApr
    sigma
  }
}
fragment NextPage on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<VaultTableQuery, VaultTableQueryVariables>;