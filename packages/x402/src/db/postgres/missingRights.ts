import type { PostgresConnection } from './PostgresConnection.js'

/** `GRANT a, b ON [FUNCTION] c, d TO {role}`. A function contains commas, so its grant names only that function. */
const grantPattern = /^GRANT ([A-Z, ]+) ON (FUNCTION )?(.+) TO \{role\}$/

type Right = { readonly object: string; readonly privilege: string; readonly isFunction: boolean }

/**
 * Returns the tables and functions that the role of the connection lacks rights to use, after a migration that did not
 * name the role. All of them must exist.
 */
export async function missingRights(connection: PostgresConnection, grants: readonly string[]): Promise<string[]> {
  const rights = grants.flatMap((grant) => rightsOf(grant, connection.quotedSchema))
  const rows = await connection.read<{ object: string }>(
    {
      name: 'latchkey_missing_rights',
      text: `SELECT DISTINCT object FROM unnest($1::text[], $2::text[], $3::boolean[]) AS needed (object, privilege, is_function)
             WHERE NOT CASE WHEN is_function THEN has_function_privilege(object, privilege)
               ELSE has_table_privilege(object, privilege) END
             ORDER BY object`,
    },
    [
      rights.map(({ object }) => object),
      rights.map(({ privilege }) => privilege),
      rights.map(({ isFunction }) => isFunction),
    ],
  )
  return rows.map(({ object }) => object.slice(connection.quotedSchema.length + 1))
}

function rightsOf(grant: string, schema: string): Right[] {
  const [, privileges, isFunction, objects] = grantPattern.exec(grant)!
  const names = isFunction === undefined ? objects!.split(', ') : [objects!]
  return names.flatMap((name) =>
    privileges!.split(', ').map((privilege) => ({
      object: name.replace('{schema}', schema),
      privilege,
      isFunction: isFunction !== undefined,
    })),
  )
}
