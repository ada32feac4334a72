#include "sizes/nonces.h"

#include <pthread.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define BUCKET_BITS 18

/* A key, and its nonces but for the last bits of their last byte. A packet number is combined with the last bytes of a
 * constant, so numbers of a page come to lie in one page. */
struct name {
    uint8_t key[SEAL_KEY_BYTES];
    uint8_t nonce[SEAL_NONCE_BYTES];
    uint32_t zero;
};

struct page {
    struct name name;
    uint32_t next;               /* of its bucket, + 1 */
    uint16_t marks[NONCES_PAGE]; /* of contents; 0: not used yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct page pages[NONCES_PAGES];
static uint64_t taken;                      /* pages so far: the oldest makes room */
static uint32_t buckets[1u << BUCKET_BITS]; /* a page's place + 1 */

/* Keys are drawn: a word of them will do. */
static uint32_t *bucket_of(const struct name *name)
{
    uint64_t word = load_be64(name->key) ^ load_be64(name->nonce + 4);
    return &buckets[word * 0x9e3779b97f4a7c15ULL >> (64 - BUCKET_BITS)];
}

static void unlink_page(const struct page *page)
{
    uint32_t *link = bucket_of(&page->name);
    while (&pages[*link - 1] != page)
        link = &pages[*link - 1].next;
    *link = page->next;
}

static struct page *add_page(const struct name *name, uint32_t *bucket)
{
    uint32_t place = (uint32_t)(taken % NONCES_PAGES);
    struct page *page = &pages[place];
    if (taken++ >= NONCES_PAGES)
        unlink_page(page);
    *page = (struct page){.name = *name, .next = *bucket};
    *bucket = place + 1;
    return page;
}

static struct page *page_of(const struct name *name)
{
    uint32_t *bucket = bucket_of(name);
    for (uint32_t place = *bucket; place != 0; place = pages[place - 1].next)
        if (memcmp(&pages[place - 1].name, name, sizeof(*name)) == 0)
            return &pages[place - 1];
    return add_page(name, bucket);
}

void nonces_use(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], uint64_t content,
                enum nonces_again again)
{
    struct name name = {.zero = 0};
    uint8_t last = nonce[SEAL_NONCE_BYTES - 1];
    uint16_t mark = (uint16_t)(content % UINT16_MAX + 1);
    memcpy(name.key, key, SEAL_KEY_BYTES);
    memcpy(name.nonce, nonce, SEAL_NONCE_BYTES);
    name.nonce[SEAL_NONCE_BYTES - 1] = last / NONCES_PAGE;
    pthread_mutex_lock(&lock);
    uint16_t *before = &page_of(&name)->marks[last % NONCES_PAGE];
    bool nonce_is_new = *before == 0, content_is_the_same = *before == mark;
    CHECK(nonce_is_new || (again == NONCES_SAME_AGAIN && content_is_the_same));
    *before = mark;
    pthread_mutex_unlock(&lock);
}

void nonces_forget(void)
{
    pthread_mutex_lock(&lock);
    if (taken > 0)
        memset(buckets, 0, sizeof(buckets));
    taken = 0;
    pthread_mutex_unlock(&lock);
}
