/** The themes of the page; `system` follows the system's theme. */
export const themes = ['system', 'light', 'dark'] as const

export type Theme = (typeof themes)[number]

const storageKey = 'theme'

/** Returns the theme that was chosen in this browser. */
export function readTheme(): Theme {
  const kept = storage()?.getItem(storageKey)
  return themes.find((theme) => theme === kept) ?? 'system'
}

/** Shows a theme: the style sheet reads it from an attribute of the root element. */
export function showTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
}

/** Shows a theme, and stores it for the next visit where the browser allows it. */
export function chooseTheme(theme: Theme): void {
  showTheme(theme)
  if (theme === 'system') storage()?.removeItem(storageKey)
  else storage()?.setItem(storageKey, theme)
}

/**
 * Calls a function when the theme changes, by choice or with the system's theme.
 * @returns a function that removes the listener
 */
export function onThemeChange(call: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const choice = new MutationObserver(call)
  system.addEventListener('change', call)
  choice.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    system.removeEventListener('change', call)
    choice.disconnect()
  }
}

/** Local storage; null where the settings of the browser forbid it. */
function storage(): Storage | null {
  try {
    return localStorage
  } catch {
    return null
  }
}
