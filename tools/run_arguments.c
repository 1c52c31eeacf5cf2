/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's words for mpirun, with what the ranks are given. */
#include "config.h" /* _GNU_SOURCE: memfd_create */

#include "tools/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"

/* Options of mpirun (Open MPI 4.1 and 5.0) that take a word or two, between spaces; the others take none. Needed to
   know where the options end and the program begins, whose words are its own. */
static const char one_word[] =
    " H N add-host add-hostfile am app bind-to c cartofile cf cpu-list cpu-set cpus-per-proc cpus-per-rank "
    "debugger default-hostfile display dvm-uri exec-agent hnp host hostfile keepalive launch-agent "
    "machinefile map-by max-restarts max-vm-size n namespace np npernode npersocket ompi-server output "
    "output-filename path personality ppr prefix preload-files pset rank-by rankfile report-events "
    "report-pid report-uri rf runtime-options slot-list stdin timeout tmpdir tune wd wdir x xml-file "
    "xterm ";
static const char two_words[] = " gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca ";

/* Those that start a debugger, terminals or a machine of daemons, whatever else mpirun is told. */
static const char not_for_map[] = " debug dvm tv xterm ";

static bool no_memory(void)
{
    fprintf(stderr, "mpinpu: no memory\n");
    return false;
}

bool run_words_add(run_words_t *words, char *word)
{
    if (words->count + 2 > words->room) {
        size_t room = 2 * words->room + 32;
        char **grown = realloc(words->word, room * sizeof *grown);
        if (grown == NULL) {
            return no_memory();
        }
        words->word = grown;
        words->room = room;
    }
    words->word[words->count++] = word;
    words->word[words->count] = NULL;
    return true;
}

/* Whether the option, with one dash or two, is among these. */
static bool is_among(const char *option, const char *names)
{
    const char *name = option + strspn(option, "-");
    const size_t bytes = strlen(name);

    for (const char *at = names; (at = strchr(at, ' ')) != NULL; at++) {
        if (bytes > 0 && strncmp(at + 1, name, bytes) == 0 && at[1 + bytes] == ' ') {
            return true;
        }
    }
    return false;
}

/* How many of the words behind this option are its own. */
static size_t option_words(const char *option)
{
    if (is_among(option, two_words)) {
        return 2;
    }
    return is_among(option, one_word) ? 1 : 0;
}

static bool is_option(const char *word, const char *name)
{
    return word[0] == '-' && strcmp(word + strspn(word, "-"), name) == 0;
}

/* -x LD_PRELOAD=theirs:libraries -x MPINPU_MASTER=master */
static bool gift_add(run_words_t *out, const char *theirs, const run_gift_t *gift)
{
    static char x_option[] = "-x";
    char *text = NULL;
    bool alone = theirs == NULL || theirs[0] == '\0';

    if (asprintf(&text, PRELOAD "=%s%s%s", alone ? "" : theirs, alone ? "" : ":", gift->libraries) < 0) {
        return no_memory();
    }
    if (!run_words_add(out, x_option) || !run_words_add(out, text)) {
        return false;
    }
    if (gift->master == NULL) {
        return true;
    }
    if (asprintf(&text, "MPINPU_MASTER=%s", gift->master) < 0) {
        return no_memory();
    }
    return run_words_add(out, x_option) && run_words_add(out, text);
}

/* What the user already preloads by `-x LD_PRELOAD` or `-x LD_PRELOAD=...`: true, and the value. */
static bool preload_option(char *const *argument, const char **theirs)
{
    size_t name_bytes = strlen(PRELOAD);

    if (!is_option(argument[0], "x") || argument[1] == NULL || strncmp(argument[1], PRELOAD, name_bytes) != 0) {
        return false;
    }
    if (argument[1][name_bytes] == '=') {
        *theirs = argument[1] + name_bytes + 1;
        return true;
    }
    if (argument[1][name_bytes] != '\0') {
        return false;
    }
    *theirs = getenv(PRELOAD);
    return true;
}

/* One line of an app file, without its comment, is a context whose words spaces separate: Open MPI knows no quotes
   there. Written as a line of a new app file. */
static bool line_rewrite(char *line, const run_gift_t *gift, FILE *file);

/* A copy of the app file with the gift in each line, in memory that mpirun inherits; its path, or NULL. */
static char *app_file_rewrite(const char *path, const run_gift_t *gift)
{
    FILE *read = fopen(path, "re");
    if (read == NULL) {
        fprintf(stderr, "mpinpu: run: the app file %s cannot be read: %s\n", path, strerror(errno));
        return NULL;
    }
    int descriptor = memfd_create("mpinpu-app", 0); /* mpirun is to inherit it */
    FILE *written = descriptor < 0 ? NULL : fdopen(dup(descriptor), "w");
    char *line = NULL;
    size_t room = 0;
    char *copy = NULL;

    bool good = written != NULL;
    while (good && getline(&line, &room, read) >= 0) {
        good = line_rewrite(line, gift, written);
    }
    good = good && ferror(read) == 0;
    free(line);
    (void)fclose(read);
    if (written == NULL || fclose(written) != 0 || !good || asprintf(&copy, "/proc/self/fd/%d", descriptor) < 0) {
        fprintf(stderr, "mpinpu: run: the app file %s cannot be copied into memory\n", path);
        return NULL;
    }
    return copy;
}

/* The words of one context. */
static bool context_add(run_words_t *out, char *const *user, size_t count, const run_gift_t *gift)
{
    const char *theirs = getenv(PRELOAD);
    size_t options = 0; /* words before the program */

    while (options < count && user[options][0] == '-' && strcmp(user[options], "--") != 0) {
        (void)preload_option(&user[options], &theirs);
        options += 1 + option_words(user[options]);
    }
    if (!gift_add(out, theirs, gift)) {
        return false;
    }
    for (size_t u = 0; u < count; u++) {
        char *word = user[u];
        const char *ignored = NULL;
        if (u < options && preload_option(&user[u], &ignored)) {
            u++;
            continue;
        }
        if (!run_words_add(out, word)) {
            return false;
        }
        out->no_map |= u < options && is_among(word, not_for_map);
        size_t own = u < options ? option_words(word) : 0;
        bool app_file = own == 1 && is_option(word, "app");
        for (; own > 0 && u + 1 < count; own--) {
            word = user[++u];
            word = app_file ? app_file_rewrite(word, gift) : word;
            if (word == NULL || !run_words_add(out, word)) {
                return false;
            }
        }
    }
    return true;
}

static bool line_rewrite(char *line, const run_gift_t *gift, FILE *file)
{
    run_words_t user = {0};
    run_words_t out = {0};
    char *rest = NULL;

    line[strcspn(line, "#\n")] = '\0';
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (!run_words_add(&user, word)) {
            return false;
        }
    }
    if (user.count == 0 || (user.count == 1 && user.word[0][0] == '\t')) {
        return true;
    }
    if (!context_add(&out, user.word, user.count, gift)) {
        return false;
    }
    for (size_t w = 0; w < out.count; w++) {
        fprintf(file, "%s%c", out.word[w], w + 1 < out.count ? ' ' : '\n');
    }
    return ferror(file) == 0;
}

bool run_arguments(run_words_t *out, char *const *user, size_t user_count, const run_gift_t *gift)
{
    for (size_t first = 0; first < user_count;) {
        size_t end = first;
        while (end < user_count && strcmp(user[end], ":") != 0) {
            end++;
        }
        if (!context_add(out, user + first, end - first, gift)) {
            return false;
        }
        if (end < user_count && !run_words_add(out, user[end++])) {
            return false;
        }
        first = end;
    }
    return true;
}
