/* `send FILE SITE…`: a job without a file of its own. */
#pragma once

/* The job file that does what these words say: FILE SITE… and, anywhere, --NAME VALUE for the keys that send takes, in YAML.
 * The job is called after the file. To be freed; NULL: *wrong is what is wrong with the words, *word which one, or NULL. */
char *send_job_text(int count, char **words, const char **wrong, const char **word);
