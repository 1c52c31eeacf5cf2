/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu trace`: the events of all ranks' files, each a line, in one array. What a rank that was killed had half
   written is left out. */
#include "config.h" /* _GNU_SOURCE: asprintf, versionsort */

#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank's file says of itself. */
typedef struct rank_about {
    char run[64]; /* tells jobs apart, but not from those that they spawned */
    char host[200];
    long long time; /* when it was opened, seconds */
    long rank;
    long ranks;
    long job; /* 0, or the number of a spawned one */
} rank_about_t;

/* All of the files. */
typedef struct merge {
    FILE *out;
    const char *path; /* of the file being read */
    rank_about_t newest;
    char host[200]; /* of the first rank */
    bool hosts;     /* there are several */
    long files;
    long first; /* of ranks of the job that was started, not of one that it spawned */
    long unended;
    long unaligned; /* whose clock was not measured */
    long older;     /* of other jobs */
    unsigned long long events;
} merge_t;

static int rank_file(const struct dirent *entry)
{
    const char *name = entry->d_name;
    const size_t length = strlen(name);
    long job;
    long rank;
    int end = 0;

    (void)((sscanf(name, "rank-%ld.json%n", &rank, &end) == 1 && end > 0) ||
           sscanf(name, "job%ld-rank-%ld.json%n", &job, &rank, &end) == 2);
    return end > 0 && (size_t)end == length;
}

/* The number behind "name":, or -1; the text behind "name":" up to its quote. */
static long long number_of(const char *line, const char *name)
{
    const char *at = strstr(line, name);

    return at == NULL ? -1 : strtoll(at + strlen(name), NULL, 10);
}

static void text_of(const char *line, const char *name, char *text, size_t bytes)
{
    const char *at = strstr(line, name);

    text[0] = '\0';
    if (at != NULL) {
        at += strlen(name);
        (void)snprintf(text, bytes, "%.*s", (int)strcspn(at, "\""), at);
    }
}

static bool line_about(const char *line, rank_about_t *about)
{
    if (strstr(line, "\"name\":\"mpinpu_rank\"") == NULL) {
        return false;
    }
    about->rank = (long)number_of(line, "\"rank\":");
    about->ranks = (long)number_of(line, "\"ranks\":");
    about->job = (long)number_of(line, "\"job\":");
    about->time = number_of(line, "\"time\":");
    text_of(line, "\"run\":\"", about->run, sizeof about->run);
    text_of(line, "\"host\":\"", about->host, sizeof about->host);
    return true;
}

/* Whether it is one whole object: the last line of a rank that was killed may end anywhere. Cuts the comma off. */
static bool line_whole(char *line)
{
    size_t length = strcspn(line, "\n");
    bool quoted = false;
    int depth = 0;

    length -= length > 0 && line[length - 1] == ',' ? 1 : 0;
    line[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        if (quoted && line[i] == '\\' && i + 1 < length) {
            i++;
        } else if (line[i] == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += line[i] == '{' ? 1 : line[i] == '}' ? -1 : 0;
        }
    }
    return length > 1 && line[0] == '{' && line[length - 1] == '}' && depth == 0 && !quoted;
}

/* What the file says of itself; false: it is none of ours. */
static bool file_about(const char *path, rank_about_t *about)
{
    FILE *in = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;

    for (int lines = 0; in != NULL && lines < 10 && !found && getline(&line, &room, in) > 0; lines++) {
        found = line_about(line, about);
    }
    free(line);
    if (in != NULL) {
        (void)fclose(in);
    }
    return found;
}

/* Copies a file's events. */
static bool file_copy(merge_t *merge)
{
    FILE *in = fopen(merge->path, "re");
    char *line = NULL;
    size_t room = 0;
    bool ended = false;
    bool measured = false;

    if (in == NULL) {
        fprintf(stderr, "mpinpu: trace: %s: %s\n", merge->path, strerror(errno));
        return false;
    }
    while (getline(&line, &room, in) > 0) {
        if (!line_whole(line)) {
            continue;
        }
        ended = ended || strstr(line, "\"name\":\"mpinpu_end\"") != NULL;
        measured =
            measured || (strstr(line, "\"name\":\"mpinpu_clock\"") != NULL && strstr(line, "not measured") == NULL);
        merge->events += strstr(line, "\"ph\":\"M\"") == NULL;
        fprintf(merge->out, "%s%s", merge->files == 0 && ftell(merge->out) == 0 ? "[\n" : ",\n", line);
    }
    free(line);
    (void)fclose(in);
    merge->files++;
    merge->unended += !ended;
    merge->unaligned += !measured;
    return true;
}

static int name_compare(const struct dirent **a, const struct dirent **b)
{
    return versionsort(a, b);
}

/* Calls `visit` with each rank's file. */
static bool files_visit(const char *folder, bool (*visit)(merge_t *merge), merge_t *merge)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, rank_file, name_compare);
    bool fine = n >= 0;
    char *path;

    if (n < 0) {
        fprintf(stderr, "mpinpu: trace: %s: %s\n", folder, strerror(errno));
        return false;
    }
    for (int e = 0; e < n; e++) {
        if (fine && asprintf(&path, "%s/%s", folder, entries[e]->d_name) >= 0) {
            merge->path = path;
            fine = visit(merge);
            free(path);
        }
        free(entries[e]);
    }
    free(entries);
    return fine;
}

static bool newest_find(merge_t *merge)
{
    rank_about_t about;

    if (file_about(merge->path, &about) && about.job == 0 && about.time > merge->newest.time) {
        merge->newest = about;
    }
    return true;
}

static bool file_merge(merge_t *merge)
{
    rank_about_t about;

    if (!file_about(merge->path, &about)) {
        fprintf(stderr, "mpinpu: trace: %s is not a rank's trace, and left out\n", merge->path);
        return true;
    }
    if (strcmp(about.run, merge->newest.run) != 0 || (about.job == 0 && about.rank >= merge->newest.ranks)) {
        merge->older++;
        return true;
    }
    if (merge->files == 0) {
        memcpy(merge->host, about.host, sizeof merge->host);
    }
    merge->hosts = merge->hosts || strcmp(merge->host, about.host) != 0;
    merge->first += about.job == 0;
    return file_copy(merge);
}

/* What whoever looks at the trace should know. */
static void merge_tell(const merge_t *merge)
{
    if (merge->older > 0) {
        fprintf(stderr, "mpinpu: trace: %ld files are of another job, and left out\n", merge->older);
    }
    if (merge->first < merge->newest.ranks) {
        fprintf(stderr, "mpinpu: trace: %ld of %ld ranks have no file there\n", merge->newest.ranks - merge->first,
                merge->newest.ranks);
    }
    if (merge->unended > 0) {
        fprintf(stderr, "mpinpu: trace: %ld ranks did not come to MPI_Finalize: what they did last may be missing\n",
                merge->unended);
    }
    if (merge->hosts && merge->unaligned > 0) {
        fprintf(stderr,
                "mpinpu: trace: %ld ranks have the clock of their host, which nobody compared with the others': no "
                "collective of all ranks was done on the engine\n",
                merge->unaligned);
    }
}

static int merge_write(const char *folder, const char *path)
{
    merge_t merge = {.newest.time = -1};
    char *new_path = NULL;
    int result = TOOL_FAILED;

    if (!files_visit(folder, newest_find, &merge)) {
        return TOOL_FAILED;
    }
    if (merge.newest.time < 0) {
        fprintf(stderr, "mpinpu: trace: no rank's trace is in %s: was the job run with MPINPU_TRACE=%s?\n", folder,
                folder);
        return TOOL_FAILED;
    }
    if (asprintf(&new_path, "%s.new", path) < 0) {
        fprintf(stderr, "mpinpu: trace: %s\n", strerror(errno));
        return TOOL_FAILED;
    }
    merge.out = fopen(new_path, "we");
    if (merge.out == NULL) {
        fprintf(stderr, "mpinpu: trace: %s: %s\n", new_path, strerror(errno));
        goto free_path;
    }
    const bool merged = files_visit(folder, file_merge, &merge);
    fprintf(merge.out, "\n]\n");
    const bool wrote = ferror(merge.out) == 0;
    if (fclose(merge.out) != 0 || !wrote || !merged || rename(new_path, path) != 0) {
        fprintf(stderr, "mpinpu: trace: %s: %s\n", path, strerror(errno));
        (void)unlink(new_path);
        goto free_path;
    }
    merge_tell(&merge);
    printf("%s: %ld ranks, %llu events; https://ui.perfetto.dev and chrome://tracing open it\n", path, merge.files,
           merge.events);
    result = TOOL_OK;
free_path:
    free(new_path);
    return result;
}

int tool_trace(int argc, char **argv)
{
    char *path = NULL;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "mpinpu: trace: which folder? `mpinpu trace FOLDER [FILE]`\n");
        return TOOL_USAGE;
    }
    if (asprintf(&path, "%s/trace.json", argv[1]) < 0) {
        fprintf(stderr, "mpinpu: trace: %s\n", strerror(errno));
        return TOOL_FAILED;
    }
    const int result = merge_write(argv[1], argc == 3 ? argv[2] : path);
    free(path);
    return result;
}
