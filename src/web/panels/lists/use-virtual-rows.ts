import {
  defaultRangeExtractor,
  observeWindowOffset,
  observeWindowRect,
  type Range,
  type VirtualItem,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from '@tanstack/virtual-core'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

export interface VirtualRowsOptions {
  readonly count: number
  /** Height of a row that was not measured yet, in pixels. */
  readonly estimate: number
  /** Number of a row that stays on the page out of sight too, with those beside it: it has the focus. Null for none. */
  readonly pinned: number | null
  readonly initialMeasurements: VirtualItem[]
}

/** Rows on either side of those in sight that are on the page too. */
const overscan = 8

/**
 * Says which rows of a long table are on the page: those in sight of the window, and some on either side.
 * @returns the rows, and a function that takes the element that has them
 */
export function useVirtualRows({ count, estimate, pinned, initialMeasurements }: VirtualRowsOptions) {
  const place = useRef<HTMLElement | null>(null)
  const [scrollMargin, setScrollMargin] = useState(0)
  const [, setRenders] = useState(0)
  const options: VirtualizerOptions<Window, HTMLTableRowElement> = {
    count,
    scrollMargin,
    overscan,
    initialMeasurementsCache: initialMeasurements,
    estimateSize: () => estimate,
    rangeExtractor: (range: Range) => withPinned(defaultRangeExtractor(range), pinned, count),
    getScrollElement: (): Window => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    initialOffset: () => window.scrollY,
    onChange: () => setRenders((renders) => renders + 1),
  }
  const [virtualizer] = useState(() => new Virtualizer(options))
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [])
  useLayoutEffect(() => virtualizer._willUpdate())
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = (place.current?.getBoundingClientRect().top ?? 0) + window.scrollY
      setScrollMargin(Math.round(top))
    }
    // Panels above grow when their data comes.
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    measure()
    return () => observer.disconnect()
  }, [])
  return { virtualizer, place }
}

function withPinned(numbers: number[], pinned: number | null, count: number): number[] {
  if (pinned === null) return numbers
  // The Tab key leads to the rows beside it.
  const kept = [pinned - 1, pinned, pinned + 1].filter((number) => number >= 0 && number < count)
  return [...new Set([...numbers, ...kept])].sort((a, b) => a - b)
}
