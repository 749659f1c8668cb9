import { Counter, Gauge, type Registry } from 'prom-client'
import { closeReasons } from './live-connection.ts'
import type { LiveObserver } from './live-connections.ts'

/** Creates the metrics of streams. */
export function liveMetrics(registers: Registry[]): LiveObserver {
  const open = new Gauge({
    name: 'vault_gateway_live_streams',
    help: 'Streams of server-sent events that are open.',
    registers,
  })
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `vault_gateway_live_${name}_total`, help, registers })
  const refused = counter('streams_refused', 'Streams refused: as many were open as may be, in all or of one sender.')
  const evaluations = counter('evaluations', 'Answers made for streams, each once for all that follow it.')
  const deliveries = counter('deliveries', 'Events written to streams.')
  const closed = new Counter({
    name: 'vault_gateway_live_streams_closed_total',
    help: 'Streams that ended: "end": the client left; "slow": it did not read; "age": as long as a stream may be; "stop".',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of closeReasons) closed.inc({ reason }, 0)
  return {
    onStreams: (count) => open.set(count),
    onStreamClosed: (reason) => closed.inc({ reason }),
    onStreamRefused: () => refused.inc(),
    onEvaluation: () => evaluations.inc(),
    onDelivery: () => deliveries.inc(),
  }
}
