import { useState } from 'preact/hooks'
import { textOf } from './text-of.ts'

/**
 * The characters of a key, as in the gateway's configuration. Other characters may be invalid in a header.
 * @see RFC 6750, section 2.1
 */
const bearerToken = /^[A-Za-z0-9\-._~+/]+=*$/

/** Prompts for an API key, which is stored in the page's memory only. */
export function KeyForm({
  wasRefused,
  onKey,
}: {
  readonly wasRefused: boolean
  readonly onKey: (key: string) => void
}) {
  const [isSendable, setSendable] = useState(true)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const key = textOf(event.currentTarget as HTMLFormElement, 'key')
    if (key === '') return
    setSendable(bearerToken.test(key))
    if (bearerToken.test(key)) onKey(key)
  }
  return (
    <form class="key" onSubmit={submit}>
      <h1 tabIndex={-1}>API key</h1>
      <p>This gateway answers requests with an API key only. The key is kept until this page is closed.</p>
      {(wasRefused || !isSendable) && (
        <p role="alert" class="problem">
          {isSendable
            ? 'The gateway does not accept this key.'
            : 'This is no API key: it may hold A-Z a-z 0-9 - . _ ~ + / and end with =.'}
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
