/* The bench of relay_fuzz: one node in the middle of hostile peers, with a disk that may be slow, out of
 * order or broken, and ports that may refuse, release late or stand still. The parts share this struct:
 *
 *   relay_disk.c      the disk: holds requests, answers them, checks their order and their memory
 *   relay_peers.c     the peers: what they hear, what they do by themselves
 *   relay_sessions.c  their sessions: handshakes, hellos, closes
 *   relay_message.c   bodies of messages from a step's bytes
 *   relay_settle.c    time, ports and planner: lets the node do what is due, and checks that it comes to rest
 *   relay_script.c    scripts: inputs put together step by step
 *   relay_seeds.c     scripts of dialogues; relay_source_seeds.c those where the node is the source
 *   relay_fuzz.c      steps, and what must hold at the end
 *
 * An input is a row of steps of STEP_BYTES: kind, peer and flags, time that passes before (its square times
 * 100 us), arguments. The first one is the configuration. */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "edge/receiver.h"
#include "fuzz.h"
#include "node/node.h"
#include "seal/handshake.h"
#include "wire/handshake.h"
#include "wire/hello.h"
#include "wire/message.h"
#include "wire/probe.h"

#define STEP_BYTES     16
#define STEP_ARGUMENTS 13
#define STEPS_MAX      160

#define PEERS         4 /* of the node, by index */
#define PEER_SOURCE   0
#define PEER_PARENT   1
#define PEER_LEFT     2
#define PEER_RIGHT    3
#define RECEIVER_BITS 256 /* packet numbers that peers track */

#define GOOD_BYTE    0x5a /* all content that is right; a block's hash is its first bytes */
#define BAD_BYTE     0xa5
#define JOBS_OF_SITE 8 /* ids 1 … 8 are jobs of the peers; those of the node are learnt */
#define JOBS_OWN     4

#define PENDING_MAX  1024
#define BODIES_MAX   256
#define PROBES_MAX   8
#define ANSWERS_MAX  16
#define COUNTERS_MAX 64
#define DATAGRAM_MAX 9216

enum step_kind {
    STEP_TIME,  /* time passes: seconds, in so many parts */
    STEP_HELLO, /* or a handshake: see peer_hello */
    STEP_CLOSE,
    STEP_MESSAGE, /* kind of control message, job, … */
    STEP_DATA,
    STEP_ACK,
    STEP_PROBE,
    STEP_MANGLE, /* the next datagram is changed: bytes, length */
    STEP_MODE,   /* what the peer does by itself */
    STEP_DISK,
    STEP_PORT,
    STEP_CONTROL,
    STEP_SHUTDOWN,
    STEP_KIND_COUNT
};

struct step {
    uint8_t kind, peer, time;
    uint8_t arguments[STEP_ARGUMENTS];
};
/* Bits of `peer` above the index. */
#define STEP_STRANGE_ADDRESS 0x10
#define STEP_STRANGE_SESSION 0x20

/* What a peer does by itself. */
enum peer_mode {
    MODE_HELLO = 1,    /* answers hellos and initiations */
    MODE_MAIL = 2,     /* acknowledges messages */
    MODE_ACK = 4,      /* acknowledges data … */
    MODE_LOSES = 8,    /* … but hears only every other packet … */
    MODE_FULL = 16,    /* … or says that its memory is full */
    MODE_REFLECT = 32, /* answers probes */
    MODE_SITE = 64,    /* reports and confirms as the node's own jobs ask */
    MODE_FORGOT = 128, /* knows no job: closes what it hears of */
    MODE_HONEST = MODE_HELLO | MODE_MAIL | MODE_ACK | MODE_REFLECT | MODE_SITE,
};

struct answer {
    uint8_t kind; /* of the message to be answered */
    uint32_t job, epoch;
};

struct hostile {
    uint8_t mode;                     /* enum peer_mode */
    uint8_t full_stripes;             /* says so in its acks */
    uint32_t session_in, session_out; /* of packets to it, and from it: told by greetings */
    uint64_t incarnation;
    uint64_t edge;              /* its name for what it has in common with the node; 0: nothing */
    bool initiated;             /* and not answered yet … */
    uint64_t initiated_edge;    /* … naming this one … */
    struct noise noise;         /* … with this in hand */
    bool asked_once, asked_due; /* the node's initiation: it came, and is not answered yet */
    uint8_t asked[WIRE_INITIATION_BYTES];
    uint8_t sent[WIRE_INITIATION_BYTES];  /* the newest of its own handshake datagrams … */
    size_t sent_bytes;                    /* … and its length; 0: none yet */
    uint32_t control_next;                /* of all but data; some it uses again */
    uint32_t message_next, message_heard; /* next message of its own, and of the node's */
    uint32_t data_next;
    uint32_t heard_packets;
    bool hello_due, mail_due;
    struct receiver receiver;
    uint32_t probe_count, answer_count;
    struct wire_probe probes[PROBES_MAX];
    struct answer answers[ANSWERS_MAX];
};

struct pending {
    struct disk_request request;
    uint64_t asked_ns;
    uint64_t sum;      /* of the memory that the node must not touch meanwhile */
    uint64_t open_sum; /* the same of *request.open */
};

struct disk_file {
    bool open, ended, stream, source;
    uint32_t outstanding;
    uint64_t size_bytes;
};

struct disk_model {
    bool holds;          /* answers only when a step says so */
    uint16_t fails;      /* bit per enum disk_op */
    uint8_t fail_status; /* enum disk_status */
    uint8_t source_object;
    uint64_t source_bytes;
    uint32_t feeds_left; /* until the input ends */
    struct disk_file files[DISK_HANDLES_MAX];
    uint32_t count;
    struct pending pending[PENDING_MAX];
};

enum port_mode {
    PORT_SENDS,
    PORT_REFUSES,
    PORT_REPORTS_LATE,
    PORT_RELEASES_LATE,
    PORT_STANDS,
    PORT_MODE_COUNT
};

struct body {
    const uint8_t *bytes;
    uint16_t length;
    bool reported; /* SENT was said */
    uint64_t cookie, sum;
};

struct bench {
    struct node *node;
    struct node_config config;
    uint64_t now_ns;
    struct hostile peers[PEERS];
    struct disk_model disk;
    uint8_t port_modes[NODE_PORTS_MAX];
    uint32_t body_count;
    struct body bodies[BODIES_MAX];
    uint32_t own_jobs[JOBS_OWN];
    uint32_t own_job_count;
    uint8_t plan_mode;
    bool asked;
    struct plan_request request; /* the newest one, once `asked` */
    uint64_t correlation;
    bool mangle;
    uint8_t mangling[STEP_ARGUMENTS];
    struct key_pair keys; /* all of them have the same */
    struct bond bond;
    struct cipher_key scratch;
    uint64_t ephemerals; /* drawn so far */
    bool shut_down;
    bool tries_slots;   /* at the end */
    uint64_t datagrams; /* handed to the node */
    uint32_t counter_count;
    uint32_t counters[COUNTERS_MAX]; /* of the node: those that tell of datagrams */
    uint64_t sent_packets;           /* since time last went on */
    _Alignas(ARENA_ALIGN) uint8_t receiver_memory[PEERS][RECEIVER_BITS];
};

/* One byte for any number: small ones, powers of two, those below them, and the largest. */
uint64_t wide(uint8_t code);
/* Cheap, over whole words where it can. */
uint64_t sum_of(const void *bytes, size_t length);
uint32_t bench_job(const struct bench *bench, uint8_t code);

/* ---- relay_disk.c ---- */
/* Takes what the node asks for, and answers it unless the disk holds. False: there was nothing. */
bool disk_take(struct bench *bench);
void disk_step(struct bench *bench, const uint8_t *arguments);

/* ---- relay_peers.c ---- */
void peers_start(struct bench *bench);
void peer_hear(struct bench *bench, const struct tx_packet *packet);
/* What peers do by themselves, now. False: nothing. */
bool peers_answer(struct bench *bench);
/* Of a datagram that is no data: under the session, and a fresh number. */
struct wire_header peer_header(struct bench *bench, uint8_t peer, uint8_t type);
void peer_message(struct bench *bench, uint8_t peer, uint8_t kind, const uint8_t *body, size_t length);
void peer_data(struct bench *bench, uint8_t peer, const uint8_t *arguments);
void peer_ack(struct bench *bench, uint8_t peer, const uint8_t *arguments);
void peer_probe(struct bench *bench, uint8_t peer, const uint8_t *arguments);
/* Hands a datagram to the node, mangled when that is due: one counter must tell of it. */
void bench_receive(struct bench *bench, uint8_t peer, uint8_t *datagram, size_t length);

/* ---- relay_sessions.c ---- */
extern const char *const peer_names[PEERS];
void sessions_start(struct bench *bench);
/* What the arguments say, by the bits of the first:
 *   none  a hello under the session
 *   1     an initiation of a peer that has restarted and forgotten everything
 *   2     … that tells another session
 *   4     … that names an edge nobody knows
 *   8     … by another name
 *   16    … to another name
 *   32    … by which all goes on
 *   64    instead a response to the node's newest initiation, answered already or not
 *   128   its newest handshake datagram again
 * The others: window, hello interval, MTU; 0 is what fits. */
void peer_hello(struct bench *bench, uint8_t peer, const uint8_t *arguments);
void peer_respond(struct bench *bench, uint8_t peer, const uint8_t *arguments);
/* An initiation or a response of the node's. */
void peer_hear_handshake(struct bench *bench, uint16_t peer, const struct wire_header *header,
                         const uint8_t *datagram, size_t length);
/* With bit 1 of the first argument under a number that it has used. */
void peer_close(struct bench *bench, uint8_t peer, const uint8_t *arguments);

/* ---- relay_message.c ---- */
/* 0: this content cannot be encoded. */
size_t message_body(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body);
/* A step of a part also has the only tree of one that has one: with more stripes the steps behind it do. */
unsigned message_part_stripes(const uint8_t *arguments);
size_t message_part_tree(const struct bench *bench, uint8_t peer, const uint8_t *arguments, uint8_t *body);

/* ---- relay_settle.c ---- */
/* Until the node has nothing more to do now. */
void settle(struct bench *bench);
/* Time goes on by span_ns, stopping where the node wants to be called, at most `stops` times. */
void pass(struct bench *bench, uint64_t span_ns, unsigned stops);
void port_step(struct bench *bench, const uint8_t *arguments);
void bodies_release(struct bench *bench, uint32_t keep);
void control_step(struct bench *bench, const uint8_t *arguments);
void control_attach(struct bench *bench); /* a planner */
/* The operator asks for a job; false: it was refused. */
bool control_run(struct bench *bench, const uint8_t *arguments);
void control_resume(struct bench *bench, const char *job);
