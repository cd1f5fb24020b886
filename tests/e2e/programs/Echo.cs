// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Net;
using System.Net.Sockets;
using System.Threading.Tasks;

/// <summary>
/// Echo: prints "pid N" and sends a byte to itself and back, over the loopback device, until it is
/// killed. Its thread for sockets waits in a stub that calls a native function.
/// </summary>
static class Echo
{
    static async Task Serve(TcpListener listener)
    {
        using var peer = await listener.AcceptTcpClientAsync();
        var bytes = new byte[16];
        int count;
        while ((count = await peer.GetStream().ReadAsync(bytes)) > 0)
            await peer.GetStream().WriteAsync(bytes.AsMemory(0, count));
    }

    static async Task Main()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var server = Serve(listener);
        using var client = new TcpClient();
        await client.ConnectAsync(IPAddress.Loopback, ((IPEndPoint)listener.LocalEndpoint).Port);
        Console.WriteLine("pid " + Environment.ProcessId);
        var bytes = new byte[16];
        while (!server.IsCompleted)
        {
            await client.GetStream().WriteAsync(bytes.AsMemory(0, 1));
            await client.GetStream().ReadAsync(bytes);
        }
    }
}
