/** Categories of an eligible asset, as feeds and responses name them. */
export const assetCategories = ['major', 'stable', 'stock token', 'meme'] as const
export type AssetCategory = (typeof assetCategories)[number]
