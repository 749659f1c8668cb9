/** How long a client waits for work that another sender began, in milliseconds: a few reads. */
export const sharedMilliseconds = 100

/** Returns the result of work, or null where it fails or takes longer. */
export function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(null), milliseconds)
    const end = (result: Result | null): void => {
      clearTimeout(late)
      resolve(result)
    }
    work.then(end, () => end(null))
  })
}
