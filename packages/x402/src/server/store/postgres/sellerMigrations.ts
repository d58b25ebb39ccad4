/** The tables of a seller: claims, sales, passes and metered work. */

import type { Migrations } from '../../../db/postgres/Migrations.js'
import { claimsSchema } from './claimsSchema.js'
import { leasesSchema } from './leasesSchema.js'
import { passesSchema } from './passesSchema.js'
import { purchasesSchema } from './purchasesSchema.js'
import { salesSchema } from './salesSchema.js'
import { usageSchema } from './usageSchema.js'

export const sellerMigrations: Migrations = {
  component: 'seller',
  versions: [`${claimsSchema}${passesSchema}${salesSchema}`, leasesSchema, purchasesSchema, usageSchema],
  grants: [
    'GRANT SELECT ON {schema}.seller TO {role}',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.claims, {schema}.passes, {schema}.sales, {schema}.revenue TO {role}',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.purchases TO {role}',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.metered_work, {schema}.unpaid_payers TO {role}',
    'GRANT SELECT, UPDATE ON {schema}.held_bytes TO {role}',
    'GRANT SELECT, UPDATE ON {schema}.claim_fences TO {role}',
  ],
}
