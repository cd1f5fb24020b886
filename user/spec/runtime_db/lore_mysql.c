// SPDX-License-Identifier: GPL-2.0-or-later
/* MySQL and MariaDB. */
#include "spec/runtime_db/lore.h"

static const struct tapir_lore_file mysql_files[] = {{"mysqld", "", NULL}, {}};
static const struct tapir_lore_file mariadb_files[] = {{"mariadbd", "", NULL}, {}};

const struct tapir_lore tapir_lore_mysql = {.name = "MySQL", .files = mysql_files};
const struct tapir_lore tapir_lore_mariadb = {.name = "MariaDB", .files = mariadb_files};
