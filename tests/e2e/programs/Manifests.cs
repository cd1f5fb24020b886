// SPDX-License-Identifier: GPL-2.0-or-later
// Decodes the Kubernetes documents on standard input into the types of a client, strictly, and prints "KIND NAME" for each.
// What a type does not have, and a key that stands twice, is an error: exit status 1, its text on stderr.
using System;
using k8s;

try
{
    foreach (object document in KubernetesYaml.LoadAllFromString(Console.In.ReadToEnd(), null, strict: true))
        Console.WriteLine($"{((IKubernetesObject)document).Kind} {((IKubernetesObject<k8s.Models.V1ObjectMeta>)document).Metadata.Name}");
    return 0;
}
catch (Exception e) when (e is YamlDotNet.Core.YamlException or FormatException or InvalidCastException)
{
    Console.Error.WriteLine($"{e.Message} {e.InnerException?.Message}");
    return 1;
}
