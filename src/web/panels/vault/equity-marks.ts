import type uPlot from 'uplot'
import { EventType } from '../../documents.generated.ts'
import type { EquityData } from './curves.ts'

type Colours = (name: string) => string

/**
 * Returns a hook that draws a line for each flow, with a mark that points up for a deposit, and down for a withdrawal.
 */
export function drawFlows(colour: Colours, flowsNow: () => EquityData['flows']) {
  return (drawn: uPlot): void => {
    const { ctx, bbox } = drawn
    const size = 5 * devicePixelRatio
    ctx.save()
    ctx.lineWidth = devicePixelRatio
    for (const { ts, type } of flowsNow()) {
      const x = drawn.valToPos(ts, 'x', true)
      if (x < bbox.left || x > bbox.left + bbox.width) continue
      const isDeposit = type === EventType.Deposit
      ctx.strokeStyle = ctx.fillStyle = colour(isDeposit ? 'deposit' : 'withdrawal')
      ctx.setLineDash([3, 3])
      strokeLine(ctx, [x, bbox.top], [x, bbox.top + bbox.height])
      const [tip, base] = isDeposit ? [bbox.top, bbox.top + 2 * size] : [bbox.top + 2 * size, bbox.top]
      ctx.beginPath()
      ctx.moveTo(x, tip)
      ctx.lineTo(x - size, base)
      ctx.lineTo(x + size, base)
      ctx.fill()
    }
    ctx.restore()
  }
}

/** Returns a hook that draws the zero line, where it is visible. */
export function drawZero(colour: Colours) {
  return (drawn: uPlot): void => {
    const { ctx, bbox } = drawn
    const y = drawn.valToPos(0, 'y', true)
    if (!(y > bbox.top && y < bbox.top + bbox.height)) return
    ctx.save()
    ctx.lineWidth = devicePixelRatio
    ctx.strokeStyle = colour('text')
    strokeLine(ctx, [bbox.left, y], [bbox.left + bbox.width, y])
    ctx.restore()
  }
}

type Place = readonly [x: number, y: number]

function strokeLine(ctx: CanvasRenderingContext2D, [fromX, fromY]: Place, [toX, toY]: Place): void {
  ctx.beginPath()
  ctx.moveTo(fromX, fromY)
  ctx.lineTo(toX, toY)
  ctx.stroke()
}
