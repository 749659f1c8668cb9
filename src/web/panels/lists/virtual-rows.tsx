import type { VirtualItem } from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ListRows } from '../../data/lists/paged-list.ts'
import { useVirtualRows } from './use-virtual-rows.ts'

export interface VirtualRowsProps<Row> {
  readonly list: ListRows<Row>
  readonly keyOf: (row: Row) => string
  readonly cells: (row: Row) => ComponentChildren
  readonly columns: number
  /** Name of the rows, in the plural. */
  readonly name: string
}

/** Height of a row before any is measured, in pixels. */
const usualHeight = 56
/** Number of rows that are loaded ahead, below the rendered ones. */
const rowsAhead = 10

/** The visible rows of a long list, with empty rows for the others; loads the next page ahead of its end. */
export function VirtualRows<Row>({ list, keyOf, cells, columns, name }: VirtualRowsProps<Row>) {
  const [pinned, setPinned] = useState<number | null>(null)
  const { virtualizer, place } = useVirtualRows({
    count: list.length + (list.hasMore ? 1 : 0),
    estimate: list.measurements[0]?.size ?? usualHeight,
    pinned,
    initialMeasurements: list.measurements,
  })
  const items = virtualizer.getVirtualItems()
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0]
  useEffect(() => list.see(first, last + rowsAhead), [list, first, last, list.length])
  useEffect(() => () => void (list.measurements = virtualizer.takeSnapshot()), [list])
  useScrollToTop(place, list)
  const pin = (target: EventTarget | null): void => {
    const index = target instanceof Element ? target.closest('tr')?.dataset['index'] : undefined
    setPinned(index === undefined ? null : Number(index))
  }
  let end = virtualizer.options.scrollMargin
  return (
    <tbody
      ref={(element) => void (place.current = element)}
      onFocusIn={({ target }) => pin(target)}
      onFocusOut={({ relatedTarget }) => pin(relatedTarget)}
    >
      {items.flatMap((item) => {
        const gap = item.start - end
        end = item.end
        return [gap > 0 && <Gap key={`gap-${item.index}`} height={gap} columns={columns} />, rowOf(item)]
      })}
      <Gap key="rest" height={virtualizer.getTotalSize() + virtualizer.options.scrollMargin - end} columns={columns} />
    </tbody>
  )

  function rowOf({ index }: VirtualItem) {
    const row = list.rowAt(index)
    const key = row === undefined ? 'more' : `${list.pageAt(index)} ${keyOf(row)}`
    return (
      // Row 1 of the table is its head.
      <tr key={key} ref={virtualizer.measureElement} data-index={index} aria-rowindex={index + 2}>
        {row === undefined ? <MoreCell columns={columns} name={name} onWanted={() => list.loadMore()} /> : cells(row)}
      </tr>
    )
  }
}

function Gap({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  )
}

interface MoreCellProps {
  readonly columns: number
  readonly name: string
  readonly onWanted: () => void
}

function MoreCell({ columns, name, onWanted }: MoreCellProps) {
  return (
    <td colSpan={columns}>
      <button type="button" onClick={onWanted}>
        {`Load more ${name}`}
      </button>
    </td>
  )
}

/** Scrolls to the top when the list is replaced. */
function useScrollToTop(place: { readonly current: HTMLElement | null }, list: unknown): void {
  const shown = useRef(list)
  useLayoutEffect(() => {
    if (shown.current === list) return
    shown.current = list
    const table = place.current?.closest('table')
    if (table != null && table.getBoundingClientRect().top < 0) table.scrollIntoView()
  }, [list])
}
