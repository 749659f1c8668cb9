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
  /** Estimated height of a row before it is measured, in pixels. */
  readonly estimate: number
  /** Index of the row with the focus, which stays rendered with its neighbours; null for none. */
  readonly pinned: number | null
  readonly initialMeasurements: VirtualItem[]
}

/** Number of rows that are rendered on either side of the visible ones. */
const overscan = 8

/**
 * Determines the rows of a long table to render: the visible ones, and some on either side.
 * @returns the rows, and a ref callback for the element that contains them
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
    // Panels above the table grow when their data arrives.
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    measure()
    return () => observer.disconnect()
  }, [])
  return { virtualizer, place }
}

function withPinned(numbers: number[], pinned: number | null, count: number): number[] {
  if (pinned === null) return numbers
  // The Tab key moves to the neighbouring rows.
  const kept = [pinned - 1, pinned, pinned + 1].filter((number) => number >= 0 && number < count)
  return [...new Set([...numbers, ...kept])].sort((a, b) => a - b)
}
