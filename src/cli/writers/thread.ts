import { parentPort, workerData } from 'node:worker_threads'
import { openPostgreSqlWriter } from '../../database/postgresql/writer.ts'
import { createWriter, type Gate, RoundAbandoned } from '../../feed/jobs/writer.ts'
import { type FromWriter, packOutcomes, type ToWriter, unpackPart } from './messages.ts'

// Entry point of the threads of writer-threads.ts: runs a writer.
const { url } = workerData as { readonly url: string }
const writer = createWriter(openPostgreSqlWriter(url))
let openGate: (isOpen: boolean) => void = () => undefined

const gate: Gate = async (outcomes) => {
  const isOpen = new Promise<boolean>((resolve) => (openGate = resolve))
  say({ kind: 'written', outcomes: packOutcomes(outcomes) })
  if (!(await isOpen)) throw new RoundAbandoned()
}

parentPort?.on('message', (message: ToWriter) => {
  if (message.kind === 'gate') openGate(message.isOpen)
  else if (message.kind === 'apply') void apply(message)
  else void writer.close().then(() => parentPort?.close())
})

say({ kind: 'ready' })

async function apply({ part }: Extract<ToWriter, { kind: 'apply' }>): Promise<void> {
  try {
    const { outcomes, ...applied } = await writer.apply(unpackPart(part), gate)
    say({ kind: 'applied', applied, outcomes: packOutcomes(outcomes) })
  } catch (error) {
    say({ kind: 'failed', reason: String(error) })
  }
}

function say(message: FromWriter): void {
  parentPort?.postMessage(message)
}
