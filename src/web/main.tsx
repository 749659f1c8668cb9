import './style.css'
import { render } from 'preact'
import { Explorer } from './app.tsx'
import { readTheme, showTheme } from './data/theme.ts'

showTheme(readTheme())
const root = document.querySelector('#app')
if (root !== null) {
  root.replaceChildren()
  const needsKey = document.documentElement.dataset['apiKey'] === 'required'
  render(<Explorer nowSeconds={() => Math.floor(Date.now() / 1000)} needsKey={needsKey} />, root)
}
