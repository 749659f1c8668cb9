/** The categories of an eligible asset, in the words of the interface. */
export const assetCategories = ['major', 'stable', 'stock token', 'meme'] as const
export type AssetCategory = (typeof assetCategories)[number]
