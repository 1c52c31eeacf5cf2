/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own pages, shared with peers on this host. Private anonymous pages are moved, at their place and with
   their contents, onto a memory file that peers map too, so that a peer loads from and stores to the program's buffer
   itself. To the program nothing changes but what docs/zero_copy.md says. Linux; any thread, but not two on the same
   pages. */
#ifndef TRANSPORT_PAGES_H
#define TRANSPORT_PAGES_H

#include "transport/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAGES_NAME_BYTES = 48 };

/* Pages that were moved. */
typedef struct pages {
    unsigned char *address;
    size_t bytes;
    int fd; /* of the memory file; open until pages_forget */
    uint64_t inode;
    char name[PAGES_NAME_BYTES];
} pages_t;

/* What a peer needs to map them. */
typedef struct pages_card {
    uint64_t inode;
    uint64_t bytes;
    int64_t pid;
    int32_t fd;
    int32_t unused;
} pages_card_t;

size_t pages_size(void);

/* Whether this process is one whose pages may be moved: nothing that it has open could hold on to physical pages (NPUs,
   network adapters with memory registration, io_uring, userfaultfd), it has locked no memory, no sanitizer watches it,
   and, unless `huge` gives them up, it has no huge pages, which shared ones are not. Else `why` has the cause in a
   sentence. */
bool pages_process_allows(bool huge, char *why, size_t why_bytes);

/* Moves [address, address + bytes), whole pages. MPINPU_ERR_UNSUPPORTED where the memory is not of the kind that is
   moved (private, anonymous, readable and writable, no heap, no stack, no thread's heap), MPINPU_ERR_NO_MEMORY where
   memory, or a limit on it, is short; `why` says which, and all pages are as they were. */
mpinpu_status_t pages_share(void *address, size_t bytes, pages_t *pages, char *why, size_t why_bytes);

/* Whether all of them still are where they were put: nothing was unmapped, moved or mapped over. About 3 us. */
bool pages_held(const pages_t *pages);

pages_card_t pages_card(const pages_t *pages);

/* Closes the file. What of the pages is still mapped stays so. */
void pages_forget(pages_t *pages);

/* Makes all moved pages within the range private again, contents kept; so many bytes could not be, for want of memory.
   Nobody else may write to the range, or change what is mapped there: it is the caller's own, or the process has no
   other thread. In a forked child it makes the parent's its own. */
size_t pages_return(void *address, size_t bytes);

/* The same, contents given up: zeros afterwards. */
void pages_discard(void *address, size_t bytes);

/* Maps a peer's pages. MPINPU_ERR_UNSUPPORTED: the peer's file cannot be opened, or is not the one meant. */
mpinpu_status_t pages_peer_map(const pages_card_t *card, unsigned char **base, char *why, size_t why_bytes);
void pages_peer_unmap(unsigned char *base, size_t bytes);

#endif
