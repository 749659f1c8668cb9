import type { ServerResponse } from 'node:http'
import { onlyRead } from '../../rest/handler.ts'
import { problem } from '../../rest/problem.ts'
import { answerMetrics, type MetricsEndpoint } from './metrics-endpoint.ts'
import { metricsPath } from './probe-paths.ts'
import { CachedResponse } from '../cache/cached-response.ts'
import type { BoundedRequest } from '../server/bounded-request.ts'
import { fromSocket } from '../server/request-adapter.ts'
import { createResponseWriter, outbound } from '../server/response-adapter.ts'

/** Creates a listener that serves only `/metrics`, for a separate port. */
export function metricsListener(
  tell: MetricsEndpoint,
): (request: BoundedRequest, response: ServerResponse<BoundedRequest>) => Promise<void> {
  const write = createResponseWriter()
  return async (request, response) => {
    const inbound = fromSocket(request)
    const { headers, ...answer } =
      inbound.path === metricsPath
        ? await onlyRead(inbound.method, () => answerMetrics(tell))
        : problem('PATH_NOT_FOUND', `${inbound.path} is not ${metricsPath}, which is all there is on this port`)
    const whole = new CachedResponse({ ...answer, headers: { ...headers, 'cache-control': 'no-store' } })
    await write(response, inbound, await outbound(inbound, whole, []))
  }
}
