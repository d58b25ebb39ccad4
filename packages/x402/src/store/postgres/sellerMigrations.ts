/** The tables of a seller: claims, sales and passes. */
import type { Migrations } from './Migrations.js'

export const sellerMigrations: Migrations = { component: 'seller', versions: [], grants: [] }
