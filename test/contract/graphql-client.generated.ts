// Written by npm run codegen from client.graphql and schema.graphql.
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
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
export type PortfolioQueryVariables = Exact<{
  owner?: ReadonlyArray<string> | string | null | undefined;
  points?: number;
}>;


export type PortfolioQuery = { readonly vaults: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly address: string, readonly status: VaultStatus, readonly valueUsd: number, readonly strategy: { readonly name: string, readonly liveApr: number | null }, readonly equity: ReadonlyArray<{ readonly ts: number, readonly netUsd: number, readonly changeUsd: number | null }>, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pool: { readonly a: string, readonly b: string, readonly feeTier: number } }> }> } };

export type HistoryQueryVariables = Exact<{
  address: string;
  type?: ReadonlyArray<EventType> | EventType | null | undefined;
}>;


export type HistoryQuery = { readonly vault: { readonly address: string, readonly status: VaultStatus, readonly valueUsd: number, readonly suspension: { readonly reason: string, readonly exitsAvailable: boolean } | null, readonly events: { readonly nodes: ReadonlyArray<{ readonly type: EventType, readonly ts: number, readonly amountUsd: number | null }>, readonly pageInfo: { readonly hasNextPage: boolean } }, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pool: { readonly a: string, readonly b: string, readonly feeTier: number } }> } | null };

export type HeadlineFragment = { readonly address: string, readonly status: VaultStatus, readonly valueUsd: number, readonly positions: ReadonlyArray<{ readonly inRange: boolean, readonly pool: { readonly a: string, readonly b: string, readonly feeTier: number } }> };

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
export const HeadlineFragmentDoc = new TypedDocumentString(`
    fragment Headline on Vault {
  address
  status
  valueUsd
  positions {
    pool {
      a
      b
      feeTier
    }
    inRange
  }
}
    `, {"fragmentName":"Headline"}) as unknown as TypedDocumentString<HeadlineFragment, unknown>;
export const PortfolioDocument = new TypedDocumentString(`
    query Portfolio($owner: [Address!], $points: Int! = 3) {
  vaults(first: 2, where: {owner: $owner}) {
    totalCount
    nodes {
      ...Headline
      strategy {
        name
        liveApr
      }
      equity(points: $points) {
        ts
        netUsd
        changeUsd
      }
    }
  }
}
    fragment Headline on Vault {
  address
  status
  valueUsd
  positions {
    pool {
      a
      b
      feeTier
    }
    inRange
  }
}`) as unknown as TypedDocumentString<PortfolioQuery, PortfolioQueryVariables>;
export const HistoryDocument = new TypedDocumentString(`
    query History($address: Address!, $type: [EventType!]) {
  vault(address: $address) {
    ...Headline
    suspension {
      reason
      exitsAvailable
    }
    events(type: $type, first: 2) {
      nodes {
        type
        ts
        amountUsd
      }
      pageInfo {
        hasNextPage
      }
    }
  }
}
    fragment Headline on Vault {
  address
  status
  valueUsd
  positions {
    pool {
      a
      b
      feeTier
    }
    inRange
  }
}`) as unknown as TypedDocumentString<HistoryQuery, HistoryQueryVariables>;