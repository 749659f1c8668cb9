/** What follows from a value: at once where the value is there, else a promise of it. */
export function mapMaybePromise<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
