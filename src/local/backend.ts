// The words between the bridge and what stands behind it: sessions, statements, rows of Postgres text. Types only.

/** One column of a result, as Postgres describes it. */
export interface Column {
  readonly name: string;
  readonly tableID: number;
  readonly columnID: number;
  readonly dataTypeID: number;
  readonly dataTypeSize: number;
  readonly dataTypeModifier: number;
}

/** What one statement gave. Values are Postgres' own text: whoever reads them parses by `dataTypeID`. */
export interface Result {
  readonly command: string;
  /** Null for commands that touch no rows, such as `CREATE TABLE`. */
  readonly rowCount: number | null;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** Runs one statement by the extended protocol: one command each, parameter types inferred by Postgres. Rejects with Postgres' error. */
export type Ask = (query: string, params?: readonly (string | null)[]) => Promise<Result>;

export interface Backend {
  /**
   * Lends a session that nobody else uses until `use` has settled. Whatever it leaves behind (an open transaction, settings,
   * temporary tables) is gone before the next one. Once `signal` aborts, a statement that waits is cancelled where that is possible.
   */
  session<T>(use: (ask: Ask) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}
