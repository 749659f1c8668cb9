import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BadChainConfig, PriceUnavailable, ContractMismatch } from '../../src/chain/errors.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, type ChainJson, factsOf, linesOf, type ReaderMessage } from './support/reading.ts'

interface TokenJson {
  readonly address: string
  readonly symbol: string
  readonly price: unknown
}

describeOnChain('a chain.json that is not as the chain is', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let alice: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(vault.deposit(alice, 10n ** 9n))
    await chain.mine(5)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (more: ChainJson = {}): ChainJson =>
    chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], more)
  const tokensOf = (change: (token: TokenJson) => TokenJson): ChainJson => ({
    tokens: (jsonOf()['tokens'] as TokenJson[]).map(change),
  })

  async function problemsOf(more: ChainJson): Promise<readonly string[]> {
    const error: unknown = await factsOf(jsonOf(more)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BadChainConfig)
    return (error as BadChainConfig).problems
  }

  test('is refused where its contracts do not exist', async () => {
    const [none, other] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`]
    const block = /at block \d+$/
    expect(
      (await problemsOf({ multicall: none, positionManager: other })).map((problem) => problem.replace(block, '')),
    ).toEqual([`multicall ${none} has no code `, `positionManager ${other} has no code `])
  })

  test('is refused where its Multicall3 is another contract', async () => {
    expect(await problemsOf({ multicall: protocol.usdc.address })).toEqual([
      `multicall ${protocol.usdc.address} is no Multicall3: it doesn't answer aggregate3()`,
    ])
  })

  test('is refused where its position managers are other contracts, with all of them', async () => {
    const [manager, other] = [protocol.usdc.address, protocol.factory]
    expect(await problemsOf({ positionManager: manager, otherPositionManagers: [protocol.manager, other] })).toEqual([
      `positionManager ${manager} is no position manager: it doesn't answer factory()`,
      `otherPositionManagers ${other} is no position manager: it doesn't answer factory()`,
    ])
  })

  test('is refused where tokens or pools are none, with all of them', async () => {
    const { ethPool, btcPool, wbtc, weth } = protocol
    const change = (token: TokenJson): TokenJson => {
      if (token.symbol === 'USDC') return { ...token, price: [vault.address] }
      return token.symbol === 'WETH' ? { ...token, price: [btcPool] } : { ...token, price: [ethPool] }
    }
    expect(await problemsOf(tokensOf(change))).toEqual([
      `tokens[1].price leads to ${wbtc.address}, which is no stable token of this list`,
      `tokens[2].price names the pool ${ethPool}, which doesn't hold ${wbtc.address}`,
    ])
    const noToken = (token: TokenJson): TokenJson => (token.symbol === 'WETH' ? { ...token, address: ethPool } : token)
    expect(await problemsOf(tokensOf(noToken))).toContain("tokens[1].address is no token: it doesn't answer decimals()")
    expect(weth.symbol).toBe('WETH')
  })

  test('is read, with a warning, where a pool of a vault is another contract', async () => {
    const { usdc, ethPool, manager } = protocol
    const later = `0x${'3'.repeat(40)}`
    const { address, firstBlock } = vault
    const pools = [ethPool, usdc.address, later, manager]
    const messages: ReaderMessage[] = []
    expect(await linesOf(jsonOf({ vaults: [{ address, strategy: 'one', firstBlock, pools }] }), messages)).not.toEqual(
      [],
    )
    expect(messages.map(({ message }) => message)).toEqual([
      `A contract among the pools of a vault is none: vaults[0].pools[1] ${usdc.address} doesn't answer slot0()`,
      `A contract among the pools of a vault is none: vaults[0].pools[3] ${manager} doesn't answer slot0()`,
    ])
  })

  test.each<[string, () => ChainJson, () => string[]]>([
    [
      'begins before the vault',
      () => vaultFrom(-1),
      () => [`${vault.address} is not there in its firstBlock, not yet at block ${vault.firstBlock - 1}`],
    ],
    [
      'begins after the vault',
      () => vaultFrom(1),
      () => [`${vault.address} is there before its firstBlock, already at block ${vault.firstBlock}`],
    ],
    [
      'names what is no vault',
      () => ({ vaults: [{ address: protocol.manager, strategy: 'one', firstBlock: 6 }] }),
      // Both are requested at once.
      () => ['owner', 'asset'].map((name) => `${protocol.manager} doesn't answer ${name}() at block 6`),
    ],
    [
      'lacks its asset',
      () => ({ tokens: (jsonOf()['tokens'] as TokenJson[]).slice(1).map((token) => ({ ...token, price: 'stable' })) }),
      () => [
        `${vault.address} has the asset ${protocol.usdc.address}, none of the tokens, at block ${vault.firstBlock}`,
      ],
    ],
  ])('stops the reader where it %s', async (_name, more, messages) => {
    const error: unknown = await factsOf(jsonOf(more())).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ContractMismatch)
    expect(messages()).toContain((error as Error).message)
  })

  function vaultFrom(shift: number): ChainJson {
    return { vaults: [{ address: vault.address, strategy: 'one', firstBlock: vault.firstBlock + shift }] }
  }

  test('stops the reader where a token reverts a call of balanceOf', async () => {
    const { wbtc } = protocol
    const code = (await chain.request({ method: 'eth_getCode', params: [wbtc.address, 'latest'] })) as string
    // PUSH0, PUSH0, REVERT.
    await chain.request({ method: 'anvil_setCode', params: [wbtc.address, '0x5f5ffd'] })
    await chain.block(vault.deposit(alice, 10n ** 6n))
    const block = await chain.head()
    // The node keeps the state of a block when the next one comes.
    await chain.mine()
    await chain.request({ method: 'anvil_setCode', params: [wbtc.address, code] })
    await chain.mine(4)
    const error: unknown = await factsOf(jsonOf()).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ContractMismatch)
    expect((error as Error).message).toBe(`${wbtc.address} doesn't answer balanceOf() at block ${block}`)
  })

  test('counts nothing of a token that was created later', async () => {
    const early = await openVault(chain, protocol, protocol.usdc)
    await chain.block(early.deposit(alice, 10n ** 6n))
    const [deployer] = chain.accounts as [Address]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'LATE', 6))
    await chain.block(protocol.mint(early.address, { address, symbol: 'LATE', decimals: 6 }, 7n * 10n ** 6n))
    await chain.mine(12)
    const { tokens } = jsonOf() as { tokens: TokenJson[] }
    const facts = await factsOf({
      ...jsonOf({ tokens: [...tokens, { address, symbol: 'LATE', price: 'stable' }] }),
      vaults: [{ address: early.address, strategy: 'one', firstBlock: early.firstBlock }],
    })
    const values = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact.valueUsd] : []))
    expect([...new Set(values)]).toEqual(['1', '8'])
  })

  test('stops the reader where a held token has no price yet', async () => {
    const early = await openVault(chain, protocol, protocol.weth)
    await chain.block(early.deposit(alice, 10n ** 18n))
    await chain.mine(3)
    const pool = await protocol.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000n * 10n ** 6n], 3_000)
    await chain.mine(3)
    const json = {
      ...jsonOf(tokensOf((token) => (token.symbol === 'WETH' ? { ...token, price: [pool] } : token))),
      vaults: [{ address: early.address, strategy: 'one', firstBlock: early.firstBlock }],
    }
    await expect(factsOf(json)).rejects.toThrow(PriceUnavailable)
    await expect(factsOf(json)).rejects.toThrow(/^WETH has no price at block \d+: /)
  })
})
