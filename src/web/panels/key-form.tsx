import { textOf } from './text-of.ts'

/** Asks for an API key, which stays in the memory of the page. */
export function KeyForm({
  wasRefused,
  onKey,
}: {
  readonly wasRefused: boolean
  readonly onKey: (key: string) => void
}) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const key = textOf(event.currentTarget as HTMLFormElement, 'key')
    if (key !== '') onKey(key)
  }
  return (
    <form class="key" onSubmit={submit}>
      <h1 tabIndex={-1}>API key</h1>
      <p>This gateway answers requests with an API key only. The key is kept until this page is closed.</p>
      {wasRefused && (
        <p role="alert" class="problem">
          The gateway does not accept this key.
        </p>
      )}
      <label class="field">
        <span>API key</span>
        <input name="key" type="password" autocomplete="off" required />
      </label>
      <button type="submit">Use key</button>
    </form>
  )
}
