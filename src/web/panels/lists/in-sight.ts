import { useEffect, useState } from 'preact/hooks'

/** Tells whether an element is on the screen, or near it. */
export function useInSight(): [isShown: boolean, watch: (element: Element | null) => void] {
  const [isShown, setShown] = useState(false)
  const [element, setElement] = useState<Element | null>(null)
  useEffect(() => {
    if (element === null) return
    const observer = new IntersectionObserver((entries) => setShown(entries.at(-1)?.isIntersecting === true), {
      rootMargin: '600px',
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return [isShown, setElement]
}
