import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeIn, readmeOf, root, sectionOf } from '../contract/readmes.ts'
import type { RunFunction } from '../support/coverage.ts'
import { usdc, weth } from './support/amounts.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { openVault } from './support/operator.ts'
import { deployProtocol } from './support/protocol.ts'
import { chainJson } from './support/reading.ts'

const section = sectionOf(readmeOf('src/chain'), '## The walk of a log')
const walk = section.slice(section.indexOf('\n1. '), section.indexOf('\n| folder'))
const paths = codeIn(walk).filter(isPath).map(pathIn)
const files = paths.filter((each) => each.endsWith('.ts'))
const folders = paths.filter((each) => each.endsWith('/'))
const functions = functionsIn(walk)

function isPath(span: string): boolean {
  return /\.ts$|\/$/.test(span)
}

/** Returns the path of a file or folder of the walk, relative to src/. */
function pathIn(span: string): string {
  return path.posix.join('chain', span)
}

/** Returns the functions that the steps name, each with its file: the one named with it, or the last such one before it. */
function functionsIn(steps: string): { name: string; file: string }[] {
  const named = steps.matchAll(/`([a-z][A-Za-z]+)`(?:\s+in\s+`([^`]+\.ts)`)?/g)
  const found: { name: string; file: string }[] = []
  for (const [, name = '', own] of named) {
    const known = found.find((one) => one.name === name)
    const file = own === undefined ? (known?.file ?? found.at(-1)?.file ?? '') : pathIn(own)
    if (known?.file !== file) found.push({ name, file })
  }
  return found
}

describeOnChain('the walk of a log, in the README of the chain', () => {
  let chain: TestChain
  let folder: string
  /** The functions that ran, those of the walk in the order of their first calls. */
  let ran: readonly Pick<RunFunction, 'file' | 'name'>[] = []

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'walk-'))
    chain = await startChain()
    const protocol = await deployProtocol(chain)
    const vault = await openVault(chain, protocol, protocol.usdc)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    const amounts = [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(1)],
    ] as const
    const position = [protocol.manager, protocol.mintData(vault.address, -600, 600, amounts)] as const
    // In the backfill and in the tail.
    for (const blocks of [80, 30]) {
      await chain.block(vault.deposit(alice, usdc(10_000)), protocol.mint(vault.address, protocol.weth, weth(1)))
      await chain.block(vault.run(position))
      await chain.mine(blocks)
    }
    const file = path.join(folder, 'chain.json')
    const { address, firstBlock } = vault
    await writeFile(file, JSON.stringify(chainJson(chain.url, protocol, [{ address, firstBlock }])))
    const names = functions.map(({ name }) => name)
    const args = ['--import', 'tsx', path.join(import.meta.dirname, 'support/readme-walk-run.ts'), file, ...names]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    ran = JSON.parse(stdout) as typeof ran
  }, patienceMilliseconds)
  afterAll(async () => {
    await chain.stop()
    await rm(folder, { recursive: true })
  })

  const filesThatRan = (): Set<string> => new Set(ran.map(({ file }) => file))

  test('names files that run', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(files.filter((file) => !filesThatRan().has(file))).toEqual([])
    expect(folders.filter((each) => ![...filesThatRan()].some((file) => file.startsWith(each)))).toEqual([])
  })

  test('names each file of the chain that runs, or the folder of it', () => {
    const isNamed = (file: string): boolean => files.includes(file) || folders.some((each) => file.startsWith(each))
    const ofChain = [...filesThatRan()].filter((file) => file.startsWith('chain/'))
    expect(ofChain.filter((file) => !isNamed(file))).toEqual([])
  })

  test('names functions that run, in the order of their first calls, each with its file', () => {
    expect(functions.length).toBeGreaterThan(40)
    const isNamed = ({ name, file }: (typeof ran)[number]): boolean =>
      functions.some((one) => one.name === name && one.file === file)
    expect(ran.filter(isNamed)).toEqual(functions)
  })

  test('does not run a file of another feature', () => {
    expect([...filesThatRan()]).not.toContain('chain/venues/v4/v4-changes.ts')
  })
})
