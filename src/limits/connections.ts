/* Limits of connections: what is read, kept and written for a client, each with its reason. */

/** Maximum number of chunks of one body: each takes 2 us. Clients that stream send a kilobyte and more. */
export const bodyChunks = 1_000
/** Memory of a chunk of a body besides its bytes, which `bodiesBytes` counts too. */
export const bodyChunkBytes = 300

/** Bytes that are read and discarded of the body of a refused request; then the connection is closed. */
export const discardedBytes = 1024 * 1024

/** Size of responses that the clients of one server have not read: about 40 of the largest. Beyond it some are closed. */
export const unsentBytes = 64 * 1024 * 1024

/** Memory of a response that is not read, besides its body, which `unsentBytes` counts too: one of 16 in a pipeline. */
export const unsentResponseBytes = 5_000

/** Limits of connections. */
export const connectionLimits = {
  reservedDescriptors: 256, // For everything else: the embedded database (20 when idle), static files, metrics.
  metricsConnections: 64, // Connections to the metrics port: a few Prometheus servers and people.
  readMilliseconds: 25, // Time of one event-loop iteration for reading: 64 KB take up to 10 ms to parse.
  iterationMilliseconds: 10, // Time of one event-loop iteration for requests that go on together, and to send responses.
  waitingConnections: 512, // Of one address that wait to be read: at 4 ms each, the last one waits 2 s.
  waitingLong: 1_024, // New connections of all addresses with more than 4 KB of input that wait to be read.
  waitingBytes: 16_000_000, // Their input, which was read already: each has up to 128 KB.
  backlog: 4_096, // New connections that the kernel keeps; it drops others, which try again after seconds.
  refusedReportSeconds: 60, // How often refused ones are logged at most: each line tells how many there were.
} as const

/** Minimum rate of reading a response, that of a slow mobile network, against slow-read attacks. */
export const slowReaderLimits = { graceSeconds: 10, bytesPerSecond: 1_000 } as const
