import type { ComponentChildren } from 'preact'

export interface ChoicesProps<Value extends string> {
  readonly legend: string
  readonly values: readonly Value[]
  readonly isChosen: (value: Value) => boolean
  readonly toggle: (value: Value) => void
  readonly labelOf: (value: Value) => ComponentChildren
}

/** A multiple choice of values. */
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

/** Removes a value from a list, or adds it where it is missing. */
export function toggled<Value>(values: readonly Value[], value: Value): readonly Value[] {
  return values.includes(value) ? values.filter((each) => each !== value) : [...values, value]
}
