import type { ComponentChildren } from 'preact'

export interface TableFrameProps {
  readonly name: string
  /** Cells of the class `wide` are left out on a narrow screen. */
  readonly children: ComponentChildren
}

/** A table that scrolls sideways in a place of its own, by the keyboard too. */
export function TableFrame({ name, children }: TableFrameProps) {
  return (
    <div class="scrolled" tabIndex={0} role="group" aria-label={`${name}, as a table`}>
      <table aria-label={name}>{children}</table>
    </div>
  )
}
