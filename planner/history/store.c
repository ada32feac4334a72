#include "planner/history/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"

/* Of the columns below: a change of them needs a way from the files of before. */
#define VERSION       2
#define TEXT(number)  #number
#define TEXT_OF(name) TEXT(name)
/* A plan may wait for it: what is locked for longer is given up for now. */
#define LOCK_MS 50
/* The most that a calendar is believed between two runs; and when the own time of a new file begins, so that there is a place for
 * what was measured before. */
#define GAP_MS UINT64_C(86400000)

/* COLUMN(name, field of struct store_row), all of them integers; OF(type, name): of its estimate. */
#define COLUMNS_1(COLUMN, OF)                                                                                \
    COLUMN(at_ms, at_ms)                                                                                     \
    COLUMN(rtt_ns, rtt_ns)                                                                                   \
    ESTIMATE_FOUND(OF)                                                                                       \
    COLUMN(window_ns, estimate.until_ns)                                                                     \
    ESTIMATE_SPENT(OF)
#define COLUMNS(COLUMN, OF)    COLUMN(kept_ms, kept_ms) COLUMNS_1(COLUMN, OF)
#define NAME(name, field)      ", " #name
#define NAME_OF(type, name)    NAME(name, )
#define PLACE(name, field)     ", ?"
#define PLACE_OF(type, name)   PLACE(name, )
#define DECLARE(name, field)   #name " INTEGER NOT NULL, "
#define DECLARE_OF(type, name) DECLARE(name, )

#define EDGE "(SELECT id FROM edges WHERE from_name = ?1 AND to_name = ?2)"
#define ESTIMATES                                                                                            \
    "CREATE TABLE estimates(edge INTEGER NOT NULL, " COLUMNS(                                                \
        DECLARE, DECLARE_OF) "PRIMARY KEY(edge, kept_ms)) WITHOUT ROWID;"
#define END "PRAGMA user_version = " TEXT_OF(VERSION) "; COMMIT"

/* Makes this version out of each one before; a file of version 0 is new. Version 1 knew the calendar alone: what is of the future
 * is left behind, unless all is, and so the calendar is wrong now. */
static const char *const upgrades[VERSION] = {
    "BEGIN IMMEDIATE;"
    "CREATE TABLE edges(id INTEGER PRIMARY KEY, from_name TEXT NOT NULL, to_name TEXT NOT NULL,"
    " UNIQUE(from_name, to_name));" ESTIMATES END,
    "BEGIN IMMEDIATE;"
    "ALTER TABLE estimates RENAME TO estimates_1;" ESTIMATES
    "INSERT INTO estimates(edge" COLUMNS(NAME, NAME_OF) ") SELECT edge, at_ms" COLUMNS_1(
        NAME, NAME_OF) " FROM estimates_1"
                       " WHERE at_ms <= strftime('%s', 'now') * 1000 OR strftime('%s', 'now') * 1000 <"
                       " (SELECT min(at_ms) FROM estimates_1);"
                       "DROP TABLE estimates_1;" END,
};

enum statement { ADD_EDGE, ADD, EDGES, READ, READ_VALUES, TRIM_OLD, TRIM_THIN, TRIM_ROWS, STATEMENTS };
static const char *const texts[STATEMENTS] = {
    [ADD_EDGE] = "INSERT OR IGNORE INTO edges(from_name, to_name) VALUES(?1, ?2)",
    [ADD] = "INSERT OR REPLACE INTO estimates(edge" COLUMNS(NAME, NAME_OF) ") VALUES(" EDGE COLUMNS(
        PLACE, PLACE_OF) ")",
    [EDGES] = "SELECT from_name, to_name FROM edges",
    [READ] = "SELECT edge" COLUMNS(NAME, NAME_OF) " FROM estimates WHERE edge = " EDGE
                                                  " ORDER BY kept_ms DESC LIMIT ?3",
    [READ_VALUES] = "SELECT edge" COLUMNS(NAME, NAME_OF) " FROM estimates WHERE edge = " EDGE
                                                         " AND kind IN (1, 2) ORDER BY kept_ms DESC LIMIT ?3",
    [TRIM_OLD] = "DELETE FROM estimates WHERE kept_ms < ?1",
    /* ?3 to ?4: when; ?5: span. What is older than ?3 was thinned before, when it was as old as that. */
    [TRIM_THIN] =
        "DELETE FROM estimates AS old WHERE edge = " EDGE " AND kept_ms >= ?3 AND kept_ms < ?4 AND EXISTS"
        " (SELECT 1 FROM estimates AS new WHERE new.edge = old.edge AND new.kept_ms > old.kept_ms AND"
        " new.kept_ms < (old.kept_ms / ?5 + 1) * ?5)",
    [TRIM_ROWS] = "DELETE FROM estimates WHERE edge = " EDGE
                  " AND kept_ms <= (SELECT kept_ms FROM estimates WHERE edge = " EDGE
                  " ORDER BY kept_ms DESC LIMIT 1 OFFSET ?3)",
};
_Static_assert(ESTIMATE_VALUE == 1 && ESTIMATE_AT_LEAST == 2,
               "the kinds that tell a rate, as READ_VALUES names them");

struct store {
    sqlite3 *file;
    uint64_t begin_ms; /* its own time when it was opened */
    uint64_t least_ms; /* what earlier runs have kept is before that */
    sqlite3_stmt *statements[STATEMENTS];
};

static enum store_result result_of(struct store *store, int code, struct err *err)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return STORE_DONE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        err_set(err, "%s", sqlite3_errmsg(store->file));
        return STORE_BROKEN;
    default:
        err_set(err, "%s", sqlite3_errmsg(store->file));
        return STORE_FAILED;
    }
}

/* ---- open and close ---- */

static int ask_number(struct store *store, const char *question, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->file, question, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    *number = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

static bool upgrade(struct store *store, int64_t version, struct err *err)
{
    if (version < 0 || version > VERSION)
        return err_set(err, "a history of version %d, this program knows %d", (int)version, VERSION);
    if (version == VERSION)
        return true;
    int code = sqlite3_exec(store->file, upgrades[version], NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return true;
    result_of(store, code, err);
    sqlite3_exec(store->file, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

static int begin(struct store *store, uint64_t calendar_ms)
{
    int64_t last_ms, at_ms;
    int code = ask_number(store, "SELECT max(kept_ms) FROM estimates", &last_ms);
    if (code == SQLITE_OK)
        code = ask_number(store, "SELECT at_ms, max(kept_ms) FROM estimates", &at_ms);
    if (code != SQLITE_OK)
        return code;
    store->least_ms = last_ms > 0 ? (uint64_t)last_ms + 1 : 0;
    store->begin_ms = store->least_ms + MIN(elapsed_ns(calendar_ms, (uint64_t)MAX(at_ms, 0)), GAP_MS);
    return SQLITE_OK;
}

/* The log before the file makes a killed writer harmless; what a loss of power takes is the last second. */
static bool prepare(struct store *store, uint64_t calendar_ms, struct err *err)
{
    int64_t version;
    int code;
    sqlite3_busy_timeout(store->file, LOCK_MS);
    if ((code = sqlite3_exec(store->file, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL,
                             NULL, NULL)) != SQLITE_OK ||
        (code = ask_number(store, "PRAGMA user_version", &version)) != SQLITE_OK)
        return result_of(store, code, err) == STORE_DONE;
    if (!upgrade(store, version, err))
        return false;
    if ((code = begin(store, calendar_ms)) != SQLITE_OK)
        return result_of(store, code, err) == STORE_DONE;
    for (unsigned index = 0; index < STATEMENTS; index++) {
        code = sqlite3_prepare_v3(store->file, texts[index], -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->statements[index], NULL);
        if (code != SQLITE_OK)
            return result_of(store, code, err) == STORE_DONE;
    }
    return true;
}

struct store *store_open(const char *path, uint64_t calendar_ms, struct err *err)
{
    struct store *store = calloc(1, sizeof(*store));
    CHECK(store != NULL);
    int code = sqlite3_open_v2(path == NULL ? ":memory:" : path, &store->file,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK && prepare(store, calendar_ms, err))
        return store;
    if (code != SQLITE_OK)
        err_set(err, "%s", store->file == NULL ? "out of memory" : sqlite3_errmsg(store->file));
    store_close(store);
    return NULL;
}

uint64_t store_kept_ms(const struct store *store, uint64_t run_ms)
{
    return store->begin_ms + run_ms;
}

bool store_is_earlier(const struct store *store, const struct store_row *row)
{
    return row->kept_ms < store->least_ms;
}

void store_close(struct store *store)
{
    for (unsigned index = 0; index < STATEMENTS; index++)
        sqlite3_finalize(store->statements[index]);
    sqlite3_close(store->file);
    free(store);
}

/* ---- rows ---- */

static sqlite3_stmt *of_edge(struct store *store, enum statement which, const char *from, const char *to)
{
    sqlite3_stmt *statement = store->statements[which];
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, from, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, to, -1, SQLITE_STATIC);
    return statement;
}

static enum store_result run(struct store *store, sqlite3_stmt *statement, struct err *err)
{
    enum store_result result = result_of(store, sqlite3_step(statement), err);
    sqlite3_reset(statement);
    return result;
}

/* What is older than the run, and than the calendar says, tells that more time lies between the runs. */
static struct store_row row_of(struct store *store, const struct ctl_estimate *record, uint64_t run_ms,
                               uint64_t calendar_ms)
{
    uint64_t age_ms = record->age_ns / NS_PER_MS;
    store->begin_ms = MAX(store->begin_ms, store->least_ms + elapsed_ns(age_ms, run_ms));
    struct store_row row = {.kept_ms = store_kept_ms(store, run_ms) - age_ms,
                            .at_ms = elapsed_ns(calendar_ms, age_ms),
                            .rtt_ns = record->rtt_ns,
                            .estimate = record->estimate};
    row.estimate.until_ns -= row.estimate.from_ns;
    row.estimate.from_ns = 0;
    return row;
}

enum store_result store_add(struct store *store, const struct ctl_estimate *record, uint64_t run_ms,
                            uint64_t calendar_ms, struct err *err)
{
    struct store_row row = row_of(store, record, run_ms, calendar_ms);
    enum store_result result = run(store, of_edge(store, ADD_EDGE, record->from, record->to), err);
    if (result != STORE_DONE)
        return result;
    sqlite3_stmt *statement = of_edge(store, ADD, record->from, record->to);
    int place = 3;
#define BIND(name, field)                                                                                    \
    sqlite3_bind_int64(statement, place++, (int64_t)MIN((uint64_t)row.field, (uint64_t)INT64_MAX));
#define BIND_OF(type, name) BIND(name, estimate.name)
    COLUMNS(BIND, BIND_OF)
#undef BIND_OF
#undef BIND
    return run(store, statement, err);
}

static void read_row(sqlite3_stmt *statement, struct store_row *row)
{
    int place = 1;
#define FETCH(name, field)   row->field = (__typeof__(row->field))sqlite3_column_int64(statement, place++);
#define FETCH_OF(type, name) FETCH(name, estimate.name)
    COLUMNS(FETCH, FETCH_OF)
#undef FETCH_OF
#undef FETCH
    row->estimate.from_ns = 0;
}

/* Who wrote the file is not known: what makes no sense is passed over. */
static bool makes_sense(const char *from, const char *to, const struct store_row *row)
{
    struct err err;
    struct ctl_estimate record = {.rtt_ns = row->rtt_ns, .estimate = row->estimate};
    memcpy(record.from, from, strnlen(from, NAME_BYTES - 1));
    memcpy(record.to, to, strnlen(to, NAME_BYTES - 1));
    return ctl_estimate_valid(&record, &err);
}

enum store_result store_read(struct store *store, const char *from, const char *to, bool values,
                             struct store_row *rows, unsigned *count, struct err *err)
{
    unsigned room = *count;
    sqlite3_stmt *statement = of_edge(store, values ? READ_VALUES : READ, from, to);
    int code;
    sqlite3_bind_int64(statement, 3, room);
    for (*count = 0; (code = sqlite3_step(statement)) == SQLITE_ROW && *count < room;) {
        memset(&rows[*count], 0, sizeof(rows[*count]));
        read_row(statement, &rows[*count]);
        *count += makes_sense(from, to, &rows[*count]);
    }
    enum store_result result = result_of(store, code, err);
    sqlite3_reset(statement);
    return result == STORE_DONE && *count == 0 ? STORE_NONE : result;
}

enum store_result store_edges(struct store *store, bool (*each)(void *user, const char *from, const char *to),
                              void *user, struct err *err)
{
    sqlite3_stmt *statement = store->statements[EDGES];
    int code;
    sqlite3_reset(statement);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *from = (const char *)sqlite3_column_text(statement, 0);
        const char *to = (const char *)sqlite3_column_text(statement, 1);
        if (from != NULL && to != NULL && !each(user, from, to))
            break;
    }
    enum store_result result = result_of(store, code, err);
    sqlite3_reset(statement);
    return result;
}

enum store_result store_trim(struct store *store, const char *from, const char *to,
                             const struct store_limits *limits, uint64_t kept_ms, struct err *err)
{
    uint64_t thin_ms = elapsed_ns(kept_ms, limits->thin_ms);
    sqlite3_stmt *statement = of_edge(store, TRIM_THIN, from, to);
    sqlite3_bind_int64(statement, 3, (int64_t)elapsed_ns(thin_ms, limits->thin_ms));
    sqlite3_bind_int64(statement, 4, (int64_t)thin_ms);
    sqlite3_bind_int64(statement, 5, (int64_t)limits->thin_each_ms);
    enum store_result result = run(store, statement, err);
    if (result != STORE_DONE)
        return result;
    statement = of_edge(store, TRIM_ROWS, from, to);
    sqlite3_bind_int64(statement, 3, limits->rows);
    return run(store, statement, err);
}

enum store_result store_forget(struct store *store, uint64_t before_ms, struct err *err)
{
    sqlite3_stmt *statement = store->statements[TRIM_OLD];
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, (int64_t)before_ms);
    return run(store, statement, err);
}
