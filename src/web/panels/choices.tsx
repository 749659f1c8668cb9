import type { ComponentChildren } from 'preact'

export interface ChoicesProps<Value extends string> {
  readonly legend: string
  readonly values: readonly Value[]
  readonly isChosen: (value: Value) => boolean
  readonly toggle: (value: Value) => void
  readonly labelOf: (value: Value) => ComponentChildren
}

/** Values of which any number can be chosen. */
export function Choices<Value extends string>({ legend, values, isChosen, toggle, labelOf }: ChoicesProps<Value>) {
  return (
    <fieldset class="chips">
      <legend>{legend}</legend>
      <div>
        {values.map((value) => (
          <label key={value}>
            <input type="checkbox" checked={isChosen(value)} onChange={() => toggle(value)} />
            {labelOf(value)}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** Returns the values without one, or with it where they do not have it. */
export function toggled<Value>(values: readonly Value[], value: Value): readonly Value[] {
  return values.includes(value) ? values.filter((each) => each !== value) : [...values, value]
}
