import { useState } from 'preact/hooks'
import { chooseTheme, readTheme, themes } from '../data/theme.ts'

/** Switches between the themes of the page. */
export function ThemeSwitch() {
  const [chosen, setChosen] = useState(readTheme)
  return (
    <label class="theme">
      Theme
      <select
        value={chosen}
        onChange={({ currentTarget: { value } }) => {
          const theme = themes.find((each) => each === value) ?? 'system'
          chooseTheme(theme)
          setChosen(theme)
        }}
      >
        {themes.map((theme) => (
          <option key={theme} value={theme}>
            {theme}
          </option>
        ))}
      </select>
    </label>
  )
}
