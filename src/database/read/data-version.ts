/**
 * A column that tells the version of the data in the very snapshot that a statement reads: the number and the mark of the
 * newest batch of facts that the snapshot sees, and an empty text before the first. A scalar subquery that depends on no
 * row is evaluated once. Every statement of hot reads has it.
 */
export const dataVersion = `coalesce((select version from data_head), '') as "dataVersion"`
